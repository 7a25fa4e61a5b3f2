import { IS_LONG } from '@tidemark/testing';
import { openLink, type Tables, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it } from 'vitest';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };

const PRODUCTS = 'CREATE TABLE products (id int PRIMARY KEY, name text)';
const products = (own: (name: string) => string): Tables => ({
  tables: { 'public.products': { source: own('Product'), owner: 'shared' } },
});

describe('rows that no message of the stream is about', () => {
  it('[PG-289] a table that is dropped and made anew under its name has only the rows of the new one', async () => {
    const link = await openLink(servers(), [PRODUCTS, `INSERT INTO products VALUES (1, 'a'), (2, 'b')`], products);
    link.start();
    await link.copied();
    await link.sql(`BEGIN; DROP TABLE products; ${PRODUCTS}; INSERT INTO products VALUES (2, 'new'); COMMIT`);
    await link.holds({ Product: { shared: { 2: { name: 'new' } } } });
    await link.stop();
    await link.sql(`DROP TABLE products; ${PRODUCTS}; INSERT INTO products VALUES (3, 'newer')`);
    link.start();
    await link.holds({ Product: { shared: { 3: { name: 'newer' } } } });
  });

  it('[PG-289] partitions that are attached, detached, dropped or truncated bring and take their rows', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE products (id int PRIMARY KEY, name text) PARTITION BY RANGE (id)',
        'CREATE TABLE p1 PARTITION OF products FOR VALUES FROM (0) TO (10)',
        'CREATE TABLE p2 PARTITION OF products FOR VALUES FROM (10) TO (20)',
        'CREATE TABLE p3 PARTITION OF products FOR VALUES FROM (20) TO (30)',
        'CREATE TABLE p4 (name text, gone int, id int PRIMARY KEY)',
        'ALTER TABLE p4 DROP gone',
        `INSERT INTO p4 VALUES ('d', 31)`,
        `INSERT INTO products VALUES (1, 'a'), (11, 'b'), (21, 'c')`,
      ],
      products,
    );
    await link.sql('ALTER PUBLICATION tidemark SET (publish_via_partition_root = true)');
    link.start();
    await link.copied();
    await link.sql(`UPDATE products SET id = 12, name = 'moved' WHERE id = 1`);
    await link.holds({ Product: { shared: { 11: { name: 'b' }, 12: { name: 'moved' }, 21: { name: 'c' } } } });
    await link.sql('ALTER TABLE products ATTACH PARTITION p4 FOR VALUES FROM (30) TO (40)');
    const four = { 11: { name: 'b' }, 12: { name: 'moved' }, 21: { name: 'c' }, 31: { name: 'd' } };
    await link.holds({ Product: { shared: four } });
    await link.sql(`INSERT INTO products VALUES (32, 'e')`, 'ALTER TABLE products DETACH PARTITION p2');
    await link.holds({ Product: { shared: { 21: { name: 'c' }, 31: { name: 'd' }, 32: { name: 'e' } } } });
    await link.sql('TRUNCATE p4');
    await link.holds({ Product: { shared: { 21: { name: 'c' } } } });
    await link.sql('DROP TABLE p3');
    await link.holds({ Product: { shared: {} } });
  });

  it('[PG-291] what a publication leaves out ends the connector with the SQL that mends it, and what was missed meanwhile is copied', async () => {
    const link = await openLink(
      servers(),
      [PRODUCTS, `INSERT INTO products VALUES (1, 'a')`, `INSERT INTO products VALUES (2, 'b')`],
      products,
    );
    await link.sql('DROP PUBLICATION tidemark', 'CREATE PUBLICATION tidemark');
    link.start();
    expect(String(await link.ended())).toContain('lacks the table "public.products"');
    await link.sql('ALTER PUBLICATION tidemark ADD TABLE products');
    link.start();
    await link.copied();
    await link.sql('ALTER PUBLICATION tidemark DROP TABLE products', `DELETE FROM products WHERE id = 1`);
    expect(String(await link.ended())).toContain('ALTER PUBLICATION "tidemark" ADD TABLE "public"."products"');
    await link.sql('ALTER PUBLICATION tidemark ADD TABLE products');
    link.start();
    await link.holds({ Product: { shared: { 2: { name: 'b' } } } });
    await link.copied();
    await link.stop();
    await link.sql(
      'ALTER PUBLICATION tidemark DROP TABLE products',
      `INSERT INTO products VALUES (3, 'c')`,
      'ALTER PUBLICATION tidemark ADD TABLE products',
    );
    link.start();
    await link.holds({ Product: { shared: { 2: { name: 'b' }, 3: { name: 'c' } } } });
    await link.copied();
    await link.stop();
    await link.sql(
      `UPDATE products SET name = 'd' WHERE id = 3`,
      'DROP PUBLICATION tidemark',
      `INSERT INTO products VALUES (4, 'e')`,
      'CREATE PUBLICATION tidemark FOR TABLE products',
    );
    link.start();
    await link.holds({ Product: { shared: { 2: { name: 'b' }, 3: { name: 'd' }, 4: { name: 'e' } } } });
  });

  it.each([
    [
      'a table that was not logged for a while',
      'CREATE PUBLICATION tidemark FOR ALL TABLES',
      'ALTER TABLE products SET UNLOGGED',
      'ALTER TABLE products SET LOGGED',
    ],
    [
      'a schema that was not published for a while',
      'CREATE PUBLICATION tidemark FOR TABLES IN SCHEMA public',
      'ALTER PUBLICATION tidemark DROP TABLES IN SCHEMA public',
      'ALTER PUBLICATION tidemark ADD TABLES IN SCHEMA public',
    ],
    [
      'changes that were not published for a while',
      'CREATE PUBLICATION tidemark FOR TABLE products',
      "ALTER PUBLICATION tidemark SET (publish = 'truncate')",
      "ALTER PUBLICATION tidemark SET (publish = 'insert, update, delete, truncate')",
    ],
  ])('[PG-291] %s: what was missed is compared', async (_what, publication, hide, show) => {
    const rows = `INSERT INTO products VALUES (1, 'a'), (2, 'b')`;
    const link = await openLink(servers(), [PRODUCTS, rows], products);
    await link.sql('DROP PUBLICATION tidemark', publication);
    link.start();
    await link.copied();
    await link.stop();
    const changes = [`INSERT INTO products VALUES (3, 'c')`, `UPDATE products SET name = 'B' WHERE id = 2`];
    await link.sql(hide, ...changes, 'DELETE FROM products WHERE id = 1', show);
    link.start();
    await link.holds({ Product: { shared: { 2: { name: 'B' }, 3: { name: 'c' } } } });
    expect(link.heals).toEqual([]);
  });

  it('[PG-75] values that ALTER TABLE rewrites within their type reach devices', async () => {
    const link = await openLink(servers(), [PRODUCTS, `INSERT INTO products VALUES (1, 'a')`], products);
    link.start();
    await link.copied();
    await link.sql('ALTER TABLE products ALTER name TYPE text USING upper(name)');
    await link.holds({ Product: { shared: { 1: { name: 'A' } } } });
  });

  it('[PG-292] a value of an enum that is renamed reaches the rows that have it', async () => {
    const link = await openLink(
      servers(),
      [
        `CREATE TYPE mood AS ENUM ('sad', 'glad')`,
        'CREATE TABLE products (id int PRIMARY KEY, name mood)',
        `INSERT INTO products VALUES (1, 'sad')`,
      ],
      products,
    );
    link.start();
    await link.copied();
    await link.sql(`ALTER TYPE mood ADD VALUE 'odd'`);
    await link.sql(`INSERT INTO products VALUES (2, 'odd')`);
    await link.holds({ Product: { shared: { 1: { name: 'sad' }, 2: { name: 'odd' } } } });
    await link.sql(`ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'`);
    await link.holds({ Product: { shared: { 1: { name: 'blue' }, 2: { name: 'odd' } } } });
  });

  it('[PG-292] a value of an enum in a domain, an array or a composite type that is renamed reaches the rows that have it', async () => {
    const link = await openLink(
      servers(),
      [
        `CREATE TYPE mood AS ENUM ('sad', 'glad')`,
        'CREATE DOMAIN feeling AS mood',
        'CREATE DOMAIN felt AS feeling',
        'CREATE DOMAIN moods AS mood[]',
        'CREATE TYPE pair AS (a mood, b int)',
        'CREATE TABLE products (id int PRIMARY KEY, one felt, many feeling[], list moods, pairs pair)',
        `INSERT INTO products VALUES (1, 'sad', '{sad,glad}', '{sad}', ROW('sad', 1))`,
      ],
      products,
    );
    link.start();
    await link.copied();
    await link.sql(`ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'`);
    const row = { one: 'blue', many: ['blue', 'glad'], list: ['blue'], pairs: '(blue,1)' };
    await link.holds({ Product: { shared: { 1: row } } });
  });

  it('[PG-290] the rows of tables that inherit from a table are not rows of it', async () => {
    const link = await openLink(
      servers(),
      [
        PRODUCTS,
        'CREATE TABLE special () INHERITS (products)',
        `INSERT INTO products VALUES (1, 'a')`,
        `INSERT INTO special VALUES (2, 'b')`,
      ],
      products,
    );
    link.start();
    await link.copied();
    await link.sql(`INSERT INTO special VALUES (3, 'c')`, `INSERT INTO products VALUES (4, 'd')`);
    await link.holds({ Product: { shared: { 1: { name: 'a' }, 4: { name: 'd' } } } });
  });
});

describe('keys', () => {
  const LARGE = `(SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 300))`;

  it.each(['shared', ...(IS_LONG ? ['group'] : [])])(
    '[PG-288] a row whose key changes during the copy of a %s table, to one that is copied already, keeps its large column',
    async (kind) => {
      const link = await openLink(
        servers(),
        [
          'CREATE TABLE wares (id int PRIMARY KEY, depot text, note text, body text)',
          'ALTER TABLE wares ALTER body SET STORAGE EXTERNAL, ALTER note SET STORAGE PLAIN',
          `INSERT INTO wares SELECT n, '@north', repeat('n', 1000), NULL FROM generate_series(2, 16000) n`,
          `INSERT INTO wares VALUES (20000, '@north', 'large', ${LARGE})`,
        ],
        (own) => ({
          tables: {
            'public.wares': {
              source: own('Ware'),
              columns: { body: 'body', note: 'note' },
              owner: kind === 'shared' ? 'shared' : { group: 'depot' },
            },
          },
        }),
      );
      link.start();
      await expect.poll(() => link.progress.length, { timeout: 60_000, interval: 1 }).toBeGreaterThan(0);
      await link.sql('UPDATE wares SET id = 1 WHERE id = 20000');
      await link.copied();
      const partition = kind === 'shared' ? { shared: true as const } : { group: link.own('north') };
      const found = async () => {
        const { objects } = await link.client.documents.objects(
          { source: link.own('Ware'), ...partition },
          { filter: { '@id': { in: ['1', '20000'] } } },
        );
        return objects.map(({ id, attributes }) => [id, String(attributes.body).length]);
      };
      await expect.poll(found, WAIT).toEqual([['1', 9600]]);
    },
  );

  it('[PG-293] another key in the mapping, and a key of another type, leave no object under an old id', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE products (id text PRIMARY KEY, code int NOT NULL UNIQUE, name text)',
        `INSERT INTO products VALUES ('007', 1, 'a'), ('b', 2, 'b')`,
      ],
      (own) => ({
        tables: { 'public.products': { source: own('Product'), owner: 'shared', columns: { name: 'name' } } },
      }),
    );
    link.start();
    await link.holds({ Product: { shared: { '007': { name: 'a' }, b: { name: 'b' } } } });
    await link.copied();
    await link.sql(
      `ALTER TABLE products ALTER id TYPE int USING (CASE id WHEN 'b' THEN 8 ELSE id::int END)`,
      `UPDATE products SET name = 'c' WHERE id = 8`,
    );
    await link.holds({ Product: { shared: { 7: { name: 'a' }, 8: { name: 'c' } } } });
    await link.copied();
    await link.stop();
    const key = ['code'];
    link.start(
      {},
      {
        tables: { 'public.products': { source: link.own('Product'), key, owner: 'shared', columns: { name: 'name' } } },
      },
    );
    await link.holds({ Product: { shared: { 1: { name: 'a' }, 2: { name: 'c' } } } });
  });
});

describe('people', () => {
  const CREWS = 'CREATE TABLE crews (id int PRIMARY KEY, login text, crew text)';
  const VISITS = 'CREATE TABLE visits (id int PRIMARY KEY, crew text, place text)';
  const visits = (own: (name: string) => string) =>
    ({ 'public.visits': { source: own('Visit'), owner: { group: 'crew' } } }) as const;

  it('[PG-294] an impossible name in a row of members is reported with the key of the row, and costs nobody another group', async () => {
    const link = await openLink(
      servers(),
      [
        VISITS,
        CREWS,
        `INSERT INTO crews VALUES (1, '@ada', ''), (2, '@ada', '@north'), (3, '', '@north'), (4, '@ada', E'a\\nb'), (5, repeat('x', 600), '@north')`,
      ],
      (own) => ({ tables: visits(own), members: { 'public.crews': { user: 'login', group: 'crew' } } }),
    );
    await link.users('ada');
    link.start();
    await link.copied();
    const groups = async () => [...(await link.client.groups.of(link.own('ada'))).groups].sort();
    await expect.poll(groups, WAIT).toEqual([link.own('north')]);
    expect(link.problems.map(({ table, key }) => `${table} ${key}`).sort()).toEqual([
      'public.crews 4',
      'public.crews 5',
    ]);
    await link.sql(`UPDATE crews SET crew = '${link.own('south')}' WHERE id = 4`, 'DELETE FROM crews WHERE id = 5');
    await expect.poll(groups, WAIT).toEqual([link.own('north'), link.own('south')]);
    const kept = async () =>
      (await link.client.documents.objects({ source: `tidemark.postgres.${link.name}`, group: 'problems' })).size;
    await expect.poll(kept, WAIT).toBe(0);
  });

  it('[PG-294] a membership that two tables give ends with the last of them, also when one is taken out of the mapping', async () => {
    const link = await openLink(
      servers(),
      [
        VISITS,
        CREWS,
        'CREATE TABLE heads (id int PRIMARY KEY, login text, crew text)',
        `INSERT INTO crews VALUES (1, '@ada', '@north'), (2, '@ada', '@south')`,
        `INSERT INTO heads VALUES (1, '@ada', '@north'), (2, '@ada', '@south')`,
      ],
      (own) => ({
        tables: visits(own),
        members: { 'public.crews': { user: 'login', group: 'crew' }, 'public.heads': { user: 'login', group: 'crew' } },
      }),
    );
    await link.users('ada');
    const [north, south] = [link.own('north'), link.own('south')];
    const groups = async () => [...(await link.client.groups.of(link.own('ada'))).groups].sort();
    link.start();
    await link.copied();
    await expect.poll(groups, WAIT).toEqual([north, south]);
    await link.sql(
      'DELETE FROM crews WHERE id = 1',
      `INSERT INTO crews VALUES (3, '${link.own('ada')}', '${link.own('west')}')`,
    );
    await expect.poll(groups, WAIT).toEqual([north, south, link.own('west')]);
    await link.stop();
    link.start(
      {},
      { tables: visits((name) => link.own(name)), members: { 'public.heads': { user: 'login', group: 'crew' } } },
    );
    await expect.poll(groups, WAIT).toEqual([north, south]);
  });

  it('[PG-295] a user who is deleted and created again by the table of users has the same rows and groups again', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE tasks (id int PRIMARY KEY, login text, title text)',
        VISITS,
        CREWS,
        'CREATE TABLE people (id int PRIMARY KEY, login text)',
        `INSERT INTO people VALUES (1, '@ada')`,
        `INSERT INTO tasks VALUES (1, '@ada', 'a')`,
        `INSERT INTO crews VALUES (1, '@ada', '@north')`,
      ],
      (own) => ({
        tables: {
          ...visits(own),
          'public.tasks': { source: own('Task'), owner: { user: 'login' }, columns: { title: 'title' } },
        },
        members: { 'public.crews': { user: 'login', group: 'crew' } },
        users: { 'public.people': { login: 'login' } },
      }),
    );
    const ada = link.own('ada');
    const groups = async () =>
      link.client.groups.of(ada).then(
        ({ groups }) => groups,
        () => 'no user',
      );
    link.start();
    await link.holds({ Task: { ada: { 1: { title: 'a' } } } });
    await expect.poll(groups, WAIT).toEqual([link.own('north')]);
    await link.copied();
    await link.sql('DELETE FROM people');
    await expect.poll(groups, WAIT).toBe('no user');
    await link.sql(`INSERT INTO people VALUES (2, '${ada}')`);
    await link.holds({ Task: { ada: { 1: { title: 'a' } } } });
    await expect.poll(groups, WAIT).toEqual([link.own('north')]);
  });

  it('[PG-295] a user whom another row names as well is not deleted with the first row, but with the last', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE tasks (id int PRIMARY KEY, login text, title text)',
        'CREATE TABLE people (id int PRIMARY KEY, login text)',
        `INSERT INTO people VALUES (1, '@ada')`,
      ],
      (own) => ({
        tables: { 'public.tasks': { source: own('Task'), owner: { user: 'login' }, columns: { title: 'title' } } },
        users: { 'public.people': { login: 'login' } },
      }),
    );
    const ada = link.own('ada');
    link.start();
    await link.copied();
    const user = async () =>
      link.client.users.get(ada).then(
        (found) => JSON.stringify(found),
        () => 'no user',
      );
    await link.client.users.update(ada, { nick: 'mark' });
    await link.sql(
      `BEGIN; DELETE FROM people WHERE id = 1; INSERT INTO people VALUES (2, '${ada}'); INSERT INTO tasks VALUES (1, '${ada}', 'a'); COMMIT`,
    );
    await link.holds({ Task: { ada: { 1: { title: 'a' } } } });
    expect(await user()).toContain('mark');
    await link.sql('DELETE FROM people');
    await expect.poll(user, WAIT).toBe('no user');
  });
});

describe('other corners', () => {
  it('[PG-296] a source that an administrator has deleted does not stop a connector whose mapping lost the table', async () => {
    const link = await openLink(
      servers(),
      [
        PRODUCTS,
        'CREATE TABLE visits (id int PRIMARY KEY, crew text, place text)',
        'CREATE TABLE wares (id int PRIMARY KEY)',
        `INSERT INTO products VALUES (1, 'a')`,
        `INSERT INTO visits VALUES (1, '@north', 'x')`,
        'INSERT INTO wares VALUES (1)',
      ],
      (own) => ({
        tables: {
          ...products(own).tables,
          'public.visits': { source: own('Visit'), owner: { group: 'crew' } },
          'public.wares': { source: own('Ware'), owner: 'shared' },
        },
      }),
    );
    link.start();
    await link.copied();
    await link.stop();
    await link.client.sources.drop(link.own('Visit'));
    await link.client.sources.drop(link.own('Ware'));
    link.start(
      {},
      products((name) => link.own(name)),
    );
    await link.copied();
    await link.sql(`INSERT INTO products VALUES (2, 'b')`);
    await link.holds({ Product: { shared: { 1: { name: 'a' }, 2: { name: 'b' } } } });
    expect(Object.keys((await link.state()).tables)).toEqual(['public.products']);
  });

  it('[PG-297] tables of one name in two schemas, generated columns, domains and \\u0000 in json are what they are in Postgres', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE DOMAIN price AS int CHECK (VALUE > 0)',
        'CREATE TABLE products (id int PRIMARY KEY, a price, b int GENERATED ALWAYS AS (a * 2) STORED, doc json)',
        'CREATE SCHEMA other',
        'CREATE TABLE other.products (id int PRIMARY KEY, name text)',
        `INSERT INTO products (id, a, doc) VALUES (1, 1, '{"t":"a\\u0000b"}')`,
        `INSERT INTO other.products VALUES (1, 'other')`,
      ],
      (own) => ({ tables: { ...products(own).tables, 'other.products': { source: own('Other'), owner: 'shared' } } }),
    );
    link.start();
    await link.holds({
      Product: { shared: { 1: { a: 1, doc: { t: 'a\u0000b' } } } },
      Other: { shared: { 1: { name: 'other' } } },
    });
    await link.copied();
    await link.sql(
      `INSERT INTO products (id, a, doc) VALUES (2, 2, '["\\u0000"]')`,
      'ALTER DOMAIN price DROP CONSTRAINT price_check',
      `UPDATE products SET a = -1 WHERE id = 1`,
      `UPDATE other.products SET name = 'changed'`,
    );
    await link.holds({
      Product: { shared: { 1: { a: -1, doc: { t: 'a\u0000b' } }, 2: { a: 2, doc: ['\u0000'] } } },
      Other: { shared: { 1: { name: 'changed' } } },
    });
  });
});
