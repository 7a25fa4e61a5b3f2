import { openLink, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it } from 'vitest';

const servers = useServers();

describe('names in the database', () => {
  it('[PG-275] tables, columns and schemas may have any name, also with quotes, points, spaces and letters of any script', async () => {
    const schema = 'Wärme "Süd".1';
    const quoted = `"${schema.replaceAll('"', '""')}"`;
    const link = await openLink(
      servers(),
      [
        `CREATE SCHEMA ${quoted}`,
        `CREATE TABLE ${quoted}."Größe; DROP TABLE x" ("Schlüssel'" int PRIMARY KEY, "select" text, "gru""ppe" text, "名前" text)`,
        `INSERT INTO ${quoted}."Größe; DROP TABLE x" SELECT n, 's' || n, '@north', '値' FROM generate_series(1, 3) n`,
      ],
      (own) => ({
        tables: {
          [`${schema}.Größe; DROP TABLE x`]: {
            source: own('Wärme'),
            owner: { group: 'gru"ppe' },
            columns: { select: 'ausgewählt', 名前: '名' },
          },
        },
      }),
    );
    const row = (n: number) => ({ ausgewählt: `s${n}`, 名: '値' });
    link.start();
    await link.holds({ Wärme: { north: { 1: row(1), 2: row(2), 3: row(3) } } });
    await link.copied();
    const table = `${quoted}."Größe; DROP TABLE x"`;
    await link.sql(
      `UPDATE ${table} SET "gru""ppe" = '${link.own('south')}' WHERE "Schlüssel'" = 1`,
      `UPDATE ${table} SET "Schlüssel'" = 9 WHERE "Schlüssel'" = 2`,
    );
    await link.holds({ Wärme: { south: { 1: row(1) }, north: { 9: row(2), 3: row(3) } } });
  });

  it('[PG-276] functions, operators and tables of others that have the names of those of Postgres are never run by the connector', async () => {
    const trap = (name: string, parameters: string, returns: string) =>
      `CREATE FUNCTION evil.${name}(${parameters}) RETURNS ${returns} LANGUAGE plpgsql AS $$ BEGIN INSERT INTO evil.caught VALUES ('${name}'); RAISE 'caught in ${name}'; END $$`;
    const link = await openLink(
      servers(),
      [
        'CREATE SCHEMA evil',
        'CREATE TABLE evil.caught (name text)',
        trap('pg_logical_emit_message', 'boolean, text, text', 'pg_lsn'),
        trap('pg_current_snapshot', '', 'pg_snapshot'),
        trap('current_setting', 'text', 'text'),
        trap('to_jsonb', 'pg_catalog.pg_replication_slots', 'jsonb'),
        trap('format_type', 'oid, int', 'text'),
        trap('json_build_object', 'VARIADIC text[]', 'json'),
        trap('jsonb_array_elements', 'jsonb', 'SETOF jsonb'),
        trap('same', 'int, int', 'boolean'),
        'CREATE OPERATOR evil.= (FUNCTION = evil.same, LEFTARG = int, RIGHTARG = int)',
        'CREATE OPERATOR evil.> (FUNCTION = evil.same, LEFTARG = int, RIGHTARG = int)',
        'CREATE VIEW evil.pg_replication_slots AS SELECT 1 AS nothing',
        'CREATE VIEW evil.pg_class AS SELECT 1 AS nothing',
        'CREATE TABLE evil.wares (id int PRIMARY KEY, name text)',
        'CREATE TABLE wares (id int PRIMARY KEY, crew text, name text)',
        'ALTER TABLE wares ALTER name SET STORAGE EXTERNAL',
        `INSERT INTO wares SELECT n, '@north', repeat('x', 5000) || n FROM generate_series(1, 1200) n`,
      ],
      (own) => ({ tables: { 'public.wares': { source: own('Ware'), owner: { group: 'crew' } } } }),
    );
    await link.database.sql.unsafe(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = evil, pg_catalog, public', current_database()); END $$`,
    );
    link.start();
    await link.copied();
    await link.sql(`UPDATE public.wares SET crew = '${link.own('south')}' WHERE id = 7`);
    const ids = async () => {
      const found = await link.read({ Ware: { south: {}, north: {} } });
      return [Object.keys(found.Ware?.south ?? {}), Object.keys(found.Ware?.north ?? {}).length];
    };
    await expect.poll(ids, { timeout: 120_000 }).toEqual([['7'], 1_199]);
    expect(link.problems).toEqual([]);
  });

  it('[PG-357] the blanks that fill up char(n) are no part of ids, users and groups', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE DOMAIN depot AS char(30)',
        'CREATE TABLE people (login char(30) PRIMARY KEY)',
        'CREATE TABLE crews (id int PRIMARY KEY, login varchar(30), depot depot)',
        'CREATE TABLE orders (code char(8) PRIMARY KEY, depot varchar(30), state text)',
        'CREATE TABLE lines (id int PRIMARY KEY, code char(12) REFERENCES orders, what text)',
        'CREATE TABLE tasks (id int PRIMARY KEY, login char(40), what text)',
        `INSERT INTO people VALUES ('@ada')`,
        `INSERT INTO crews VALUES (1, '@ada', '@north'), (2, '@ada', '@north')`,
        `INSERT INTO orders VALUES ('a1', '@north', 'new')`,
        `INSERT INTO lines VALUES (1, 'a1', 'x')`,
        `INSERT INTO tasks VALUES (1, '@ada', 'y')`,
      ],
      (own) => ({
        tables: {
          'public.orders': { source: own('Order'), owner: { group: 'depot' }, columns: { state: 'state' } },
          'public.lines': { source: own('Line'), owner: { through: ['code'], parent: 'public.orders' } },
          'public.tasks': { source: own('Task'), owner: { user: 'login' }, columns: { what: 'what' } },
        },
        members: { 'public.crews': { user: 'login', group: 'depot' } },
        users: { 'public.people': { login: 'login' } },
      }),
    );
    const line = { code: 'a1', what: 'x' };
    link.start();
    await link.holds({
      Order: { north: { a1: { state: 'new' } } },
      Line: { north: { 1: line } },
      Task: { ada: { 1: { what: 'y' } } },
    });
    await link.copied();
    const groups = async () => (await link.client.groups.of(link.own('ada'))).groups;
    await expect.poll(groups, { timeout: 120_000 }).toEqual([link.own('north')]);
    // The other row still says so.
    await link.sql(
      'DELETE FROM crews WHERE id = 2',
      `UPDATE orders SET state = 'done'`,
      `INSERT INTO lines VALUES (2, 'a1', 'z')`,
    );
    await link.holds({
      Order: { north: { a1: { state: 'done' } } },
      Line: { north: { 1: line, 2: { ...line, what: 'z' } } },
    });
    expect(await groups()).toEqual([link.own('north')]);
    await link.sql('DELETE FROM lines', `DELETE FROM orders WHERE code = 'a1'`, 'DELETE FROM crews');
    await link.holds({ Order: { north: {} }, Line: { north: {} } });
    await expect.poll(groups, { timeout: 120_000 }).toEqual([]);
  });

  it('[PG-277] keys of a type that an extension brings are copied in its own order, and compared by its own operators', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE SCHEMA extras',
        'CREATE EXTENSION citext SCHEMA extras',
        'CREATE TABLE wares (code extras.citext PRIMARY KEY, crew extras.citext, name text)',
        `INSERT INTO wares SELECT CASE n % 2 WHEN 0 THEN 'w' ELSE 'W' END || lpad(n::text, 5, '0'), '@north', 'n' FROM generate_series(1, 1300) n`,
      ],
      (own) => ({
        tables: { 'public.wares': { source: own('Ware'), owner: { group: 'crew' }, columns: { name: 'n' } } },
      }),
    );
    link.start();
    const bare = `replace(crew::text, '_${link.name}', '')`;
    const statement = `SELECT ${bare} AS owner, code::text AS id, json_build_object('n', name) AS attributes FROM wares`;
    await link.equals('Ware', ['north'], statement);
    await link.copied();
    await link.sql(`UPDATE wares SET name = 'new' WHERE code = 'W00002'`, `DELETE FROM wares WHERE code = 'w00003'`);
    await link.equals('Ware', ['north'], statement);
  });
});
