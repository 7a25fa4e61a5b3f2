import { type PostgresDatabase, type PostgresServer, startPostgres } from '@tidemark/testing/kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseMapping } from '../mapping/parse-mapping.ts';
import { createSlot } from '../replication/slot.ts';
import { openSql } from '../sql/open-sql.ts';
import { type DatabaseAddress, parseDatabaseUrl } from '../sql/parse-url.ts';
import { checkDatabase } from './check-database.ts';
import { checkServer } from './check-server.ts';
import type { Finding } from './finding.ts';

const SCHEMA = `
  CREATE SCHEMA field;
  CREATE TABLE field.orders (id int PRIMARY KEY, depot text NOT NULL, state text);
  CREATE TABLE field.lines (id int PRIMARY KEY, order_id int NOT NULL REFERENCES field.orders, item text);
  CREATE TABLE field.prices (code text PRIMARY KEY, price numeric);`;
const MAPPING = {
  tables: {
    'field.orders': { source: 'orders', owner: { group: 'depot' } },
    'field.lines': { source: 'lines', owner: { through: ['order_id'], parent: 'field.orders' } },
    'field.prices': { source: 'prices', owner: 'shared' },
  },
};
const NOTICES = ['notice wal_keep_size', 'notice kept_owners', 'notice kept_owners', 'notice long_key'];

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

/** A database, and a login that has no rights in it. */
async function open(
  ...statements: readonly string[]
): Promise<{ readonly database: PostgresDatabase; readonly address: DatabaseAddress }> {
  const database = await server.createDatabase();
  const user = `connector_${database.name}`;
  for (const statement of [SCHEMA, ...statements, `CREATE ROLE ${user} LOGIN PASSWORD 'pass'`])
    await database.sql.unsafe(statement);
  return { database, address: { ...parseDatabaseUrl(database.url), user, password: 'pass' } };
}

function check(address: DatabaseAddress, mapping: object = MAPPING): Promise<readonly Finding[]> {
  return checkDatabase(address, parseMapping(JSON.stringify(mapping), 'map.jsonc'), 'map.jsonc');
}

const codes = (found: readonly Finding[]) => found.map(({ level, code }) => `${level} ${code}`);

async function mend({ sql }: PostgresDatabase, found: readonly Finding[]): Promise<void> {
  for (const statement of found.filter(({ level }) => level === 'error').flatMap((finding) => finding.sql))
    await sql.unsafe(statement);
}

/** A database where nothing is missing before the statements run. */
async function openMended(...statements: readonly string[]) {
  const opened = await open();
  await mend(opened.database, await check(opened.address));
  for (const statement of statements) await opened.database.sql.unsafe(statement);
  return opened;
}

describe('checking a database before it is connected', () => {
  it('[PG-250] it finds everything that changes of devices need, and each statement mends it', async () => {
    const { database, address } = await openMended(
      'CREATE TABLE field.tasks (id serial PRIMARY KEY, depot text, title text)',
      'ALTER PUBLICATION tidemark ADD TABLE field.tasks',
    );
    const role = `writer_${database.name}`;
    onTestFinished(async () => void (await database.sql.unsafe(`DROP OWNED BY ${role}; DROP ROLE ${role}`)));
    const tasks = {
      ...{ source: 'tasks', owner: { group: 'depot' }, writable: ['title'] },
      devices: { create: true, delete: true },
    };
    const mapping = { tables: { ...MAPPING.tables, 'field.tasks': tasks }, writing: { role } };
    await database.sql.unsafe(`GRANT SELECT ON field.tasks TO ${address.user}`);
    const found = await check(address, mapping);
    const errors = found.filter(({ level }) => level === 'error');
    expect(errors.map(({ code, sql }) => [code, sql])).toEqual([
      ['operations_table', expect.anything()],
      ['writing_role', [`CREATE ROLE "${role}"`, `GRANT "${role}" TO "${address.user}"`]],
      ['writing_schema', [`GRANT USAGE ON SCHEMA "field" TO "${role}"`]],
      [
        'table_write',
        [
          `GRANT SELECT ON "field"."tasks" TO "${role}"`,
          `GRANT UPDATE ("title") ON "field"."tasks" TO "${role}"`,
          `GRANT INSERT ("title") ON "field"."tasks" TO "${role}"`,
          `GRANT INSERT ("depot") ON "field"."tasks" TO "${role}"`,
          `GRANT DELETE ON "field"."tasks" TO "${role}"`,
        ],
      ],
      ['sequence_usage', [`GRANT USAGE ON SEQUENCE field.tasks_id_seq TO "${role}"`]],
    ]);
    await mend(database, found);
    expect(codes(await check(address, mapping)).filter((code) => code.startsWith('error'))).toEqual([]);
    await database.sql.unsafe(
      `REVOKE ${role} FROM ${address.user}; REVOKE USAGE ON SCHEMA tidemark FROM ${address.user};
       REVOKE INSERT ON tidemark.operations FROM ${address.user}`,
    );
    const last = await check(address, mapping);
    expect(codes(last).filter((code) => code.startsWith('error'))).toEqual([
      'error operations_grants',
      'error writing_member',
    ]);
    await mend(database, last);
    expect(codes(await check(address, mapping)).filter((code) => code.startsWith('error'))).toEqual([]);
  });

  it('[PG-40] finds everything that is missing at once, and the SQL that it prints mends all of it', async () => {
    const { database, address } = await open(
      'ALTER TABLE field.prices REPLICA IDENTITY NOTHING',
      'ALTER TABLE field.lines ENABLE ROW LEVEL SECURITY',
    );
    const found = await check(address);
    expect(found.filter(({ level }) => level === 'error')).toEqual([
      {
        code: 'replication_role',
        level: 'error',
        message: `the role "${address.user}" may not replicate`,
        sql: [`ALTER ROLE "${address.user}" REPLICATION`],
      },
      {
        code: 'schema_usage',
        level: 'error',
        message: `the role "${address.user}" may not use the schema "field"`,
        sql: [`GRANT USAGE ON SCHEMA "field" TO "${address.user}"`],
      },
      ...['orders', 'lines', 'prices'].map((name) => ({
        code: 'table_select',
        level: 'error',
        message: `the role "${address.user}" may not read the table "field.${name}"`,
        sql: [`GRANT SELECT ON "field"."${name}" TO "${address.user}"`],
      })),
      {
        code: 'row_security',
        level: 'error',
        message: `row-level security of "field.lines" may hide rows from the role "${address.user}", so the copy would lack them`,
        sql: [`ALTER ROLE "${address.user}" BYPASSRLS`],
      },
      {
        code: 'replica_identity',
        level: 'error',
        message: 'changes of "field.prices" do not say which row they are about: its replica identity lacks code',
        sql: ['ALTER TABLE "field"."prices" REPLICA IDENTITY DEFAULT'],
      },
      {
        code: 'publication',
        level: 'error',
        message: 'there is no publication "tidemark", which says whose changes are sent',
        sql: ['CREATE PUBLICATION "tidemark" FOR TABLE "field"."orders", "field"."lines", "field"."prices"'],
      },
    ]);
    await mend(database, found);
    expect(codes(await check(address))).toEqual(NOTICES);
  });

  it('[PG-40] what a mapping that does not fit leaves to be checked is found as well, and a table without a key gets one', async () => {
    const { database, address } = await open(
      'CREATE TABLE field.log (id text, at timestamptz)',
      'CREATE TABLE field.codes (code text NOT NULL UNIQUE, text text)',
      'CREATE TABLE field.crews (login text, depot text, PRIMARY KEY (login, depot))',
    );
    const tables = {
      ...MAPPING.tables,
      'field.orders': { source: 'orders', owner: { group: 'depo' }, columns: { stat: 'state' }, writable: ['stat'] },
      'field.log': { source: 'log', owner: 'shared' },
      'field.codes': { source: 'codes', owner: 'shared' },
    };
    const members = { 'field.crews': { user: 'log_in', group: 'depot' } };
    const found = await check(address, { tables, members });
    const named = ['orders', 'lines', 'prices', 'log', 'codes'];
    const label = 'map.jsonc: tables["field';
    expect(found.filter(({ level }) => level === 'error').map(({ message, sql }) => [message, sql])).toEqual([
      [expect.stringContaining('may not replicate'), expect.anything()],
      [`${label}.orders"].owner.group: the table "field.orders" has no column "depo": did you mean "depot"?`, []],
      [`${label}.orders"].columns.stat: the table "field.orders" has no column "stat": did you mean "state"?`, []],
      [`${label}.orders"].writable: the table "field.orders" has no column "stat"`, []],
      [
        `${label}.log"]: the table has no primary key: add one, or name the columns of a unique index as "key"`,
        ['ALTER TABLE "field"."log" ADD COLUMN "row_id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY'],
      ],
      [
        `${label}.codes"]: the table has no primary key: add one, or name the columns of a unique index as "key"`,
        ['ALTER TABLE "field"."codes" ADD PRIMARY KEY ("code")'],
      ],
      [expect.stringContaining('has no column "log_in"'), []],
      [expect.stringContaining('may not use the schema'), expect.anything()],
      ...named.map((name) => [expect.stringContaining(`may not read the table "field.${name}"`), expect.anything()]),
      [expect.stringContaining('there is no table tidemark.operations'), expect.anything()],
      [expect.stringContaining('may not use the schema "field"'), expect.anything()],
      [expect.stringContaining('may not write "field.orders"'), expect.anything()],
      [
        expect.stringContaining('there is no publication'),
        [`CREATE PUBLICATION "tidemark" FOR TABLE ${named.map((name) => `"field"."${name}"`).join(', ')}`],
      ],
    ]);
    await mend(database, found);
    const { 'field.orders': _, 'field.lines': __, ...fitting } = tables;
    expect((await check(address, { tables: fitting })).filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('[PG-42] columns that a publication leaves out are found for each section that a table stands in, and said once', async () => {
    const { database, address } = await openMended(
      'CREATE TABLE field.people (id int PRIMARY KEY, login text, depot text, name text)',
      'ALTER PUBLICATION tidemark ADD TABLE field.people (id, name)',
    );
    await database.sql.unsafe(`GRANT SELECT ON field.people TO ${address.user}`);
    const people = { source: 'people', owner: 'shared', columns: { name: 'name' } };
    const found = await check(address, {
      tables: { ...MAPPING.tables, 'field.people': people },
      members: { 'field.people': { user: 'login', group: 'depot' } },
      users: { 'field.people': { login: 'login' } },
    });
    const messages = found.filter(({ level }) => level === 'error').map(({ message }) => message);
    expect(messages).toEqual([
      'the publication "tidemark" leaves out columns of "field.people": login, depot',
      'the publication "tidemark" leaves out columns of "field.people": login',
    ]);
    await mend(database, found);
    expect((await check(address)).filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('[PG-40] an unlogged table, which no publication can have, is found together with all that it needs', async () => {
    const { database, address } = await open('CREATE UNLOGGED TABLE field.log (id int PRIMARY KEY, text text)');
    const mapping = { tables: { 'field.log': { source: 'log', owner: 'shared' } } };
    const found = await check(address, mapping);
    expect(found.filter(({ code }) => code === 'mapping')).toEqual([
      {
        ...{ code: 'mapping', level: 'error' },
        message: 'map.jsonc: tables["field.log"]: the table is unlogged: Postgres sends changes of logged tables only',
        sql: ['ALTER TABLE "field"."log" SET LOGGED'],
      },
    ]);
    await mend(database, found);
    expect((await check(address, mapping)).filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('[PG-40] a key that is not the primary key needs an identity by its index', async () => {
    const { database, address } = await openMended('ALTER TABLE field.lines ADD number text NOT NULL UNIQUE');
    const tables = { ...MAPPING.tables, 'field.lines': { source: 'lines', key: ['number'], owner: 'shared' } };
    const found = await check(address, { tables });
    expect(found[0]?.sql).toEqual(['ALTER TABLE "field"."lines" REPLICA IDENTITY USING INDEX "lines_number_key"']);
    await mend(database, found);
    expect((await check(address, { tables })).filter(({ level }) => level === 'error')).toEqual([]);
  });

  it.each([
    ['numeric(8,2)', 'numeric(8,2)', false],
    ['bigint', 'int', false],
    ['text', 'varchar(9)', false],
    ['char(4)', 'char(9)', false],
    ['uuid', 'uuid', false],
    ['field.state', 'field.state', false],
    ['numeric', 'numeric', true],
    ['numeric(8,2)', 'int', true],
    ['citext', 'citext', true],
  ])(
    '[PG-358] a key of %s with a reference of %s is said to be written in two ways: %s',
    async (key, reference, isFound) => {
      const { address } = await openMended(
        `CREATE EXTENSION citext; CREATE TYPE field.state AS ENUM ('new'); CREATE TABLE field.stores (id ${key} PRIMARY KEY, depot text);
         CREATE TABLE field.shelves (id int PRIMARY KEY, store ${reference} REFERENCES field.stores)`,
      );
      const tables = {
        'field.stores': { source: 'stores', owner: { group: 'depot' } },
        'field.shelves': { source: 'shelves', owner: { through: ['store'], parent: 'field.stores' } },
      };
      const found = (await check(address, { tables })).filter(({ code }) => code === 'reference_text');
      expect(found.map(({ level, message }) => [level, message.startsWith('"store" of "field.shelves"')])).toEqual(
        isFound ? [['warning', true]] : [],
      );
    },
  );

  it('[PG-40] what is wrong with the mapping is among the findings', async () => {
    const { address } = await openMended();
    expect(await check(address, { tables: { 'field.order': { source: 'orders', owner: 'shared' } } })).toContainEqual({
      code: 'mapping',
      level: 'error',
      message:
        'map.jsonc: tables["field.order"]: the database has no table "field.order": did you mean "field.orders"?',
      sql: [],
    });
  });

  it.each([
    ['publication_table', 'ALTER PUBLICATION tidemark DROP TABLE field.lines'],
    ['publication_operations', "ALTER PUBLICATION tidemark SET (publish = 'insert, update')"],
    ['publication_columns', 'ALTER PUBLICATION tidemark SET TABLE field.orders (id, depot), field.lines, field.prices'],
    ['publication_rows', 'ALTER PUBLICATION tidemark SET TABLE field.orders WHERE (id > 7), field.lines, field.prices'],
  ])('[PG-42] %s is found after: %s', async (code, statement) => {
    const { database, address } = await openMended(statement);
    const found = await check(address);
    expect(codes(found)).toEqual([`error ${code}`, ...NOTICES]);
    await mend(database, found);
    expect(codes(await check(address))).toEqual(NOTICES);
  });

  it('[PG-42] a partitioned table must be published under its own name', async () => {
    const { database, address } = await openMended(
      'CREATE TABLE field.measures (id int PRIMARY KEY, value int) PARTITION BY RANGE (id)',
      'CREATE TABLE field.measures_1 PARTITION OF field.measures FOR VALUES FROM (0) TO (9)',
      'ALTER PUBLICATION tidemark ADD TABLE field.measures',
    );
    await database.sql.unsafe(`GRANT SELECT ON field.measures TO ${address.user}`);
    const mapping = { tables: { ...MAPPING.tables, 'field.measures': { source: 'measures', owner: 'shared' } } };
    const found = await check(address, mapping);
    expect(codes(found)).toEqual(['error publication_via_root', ...NOTICES]);
    await mend(database, found);
    expect(codes(await check(address, mapping))).toEqual(NOTICES);
    await database.sql`DROP PUBLICATION tidemark`;
    await mend(database, await check(address, mapping));
    expect(codes(await check(address, mapping))).toEqual(NOTICES);
  });

  it('[PG-41] settings of the server that stop the connector are found, with the SQL that changes them', async () => {
    const settings = { wal_level: 'replica', max_replication_slots: '1', max_wal_senders: '0' };
    const other = await startPostgres();
    onTestFinished(() => other.remove());
    await other.sql.unsafe(SCHEMA);
    await other.sql`CREATE PUBLICATION tidemark FOR ALL TABLES`;
    await createSlot(other.sql, 'someone_else');
    const address = parseDatabaseUrl(other.url);
    expect(codes(await check(address))).toEqual(['warning superuser', ...NOTICES]);
    await other.stop();
    await other.restart({ max_replication_slots: settings.max_replication_slots });
    expect((await check(address))[0]).toEqual({
      code: 'replication_slots',
      level: 'error',
      message: 'all 1 replication slots are taken: drop one that nobody uses, or allow more and restart the server',
      sql: ['ALTER SYSTEM SET max_replication_slots = 6'],
    });
    await other.sql`SELECT pg_drop_replication_slot('someone_else')`;
    await other.stop();
    await other.restart(settings);
    const found = await check(address);
    expect(codes(found).slice(0, 2)).toEqual(['error wal_level', 'error wal_senders']);
    expect(found.slice(0, 2).flatMap(({ sql }) => sql)).toEqual([
      "ALTER SYSTEM SET wal_level = 'logical'",
      'ALTER SYSTEM SET max_wal_senders = 5',
    ]);
    for (const { sql } of await check(address))
      for (const statement of sql) if (statement.includes('keep_size')) await other.sql.unsafe(statement);
    await other.stop();
    await other.restart({ wal_level: 'logical', max_wal_senders: '5' });
    expect(codes(await check(address))).toEqual(['warning superuser', ...NOTICES.slice(1)]);
  });

  it('[PG-43] a certificate that is not verified is a warning', async () => {
    const address = { ...parseDatabaseUrl(server.url), host: 'db.example', tls: 'encrypt' as const };
    expect(await checkServer(server.sql, address, 'tidemark')).toContainEqual({
      code: 'certificate',
      level: 'warning',
      message:
        'sslmode=require encrypts, and does not make sure that "db.example" is who answers: use sslmode=verify-full',
      sql: [],
    });
  });

  it('[PG-43] a pooler is noticed by backends that change within a session', async () => {
    // As a pooler does, it takes another connection for each statement.
    const backends = [1, 2].map(() => openSql(parseDatabaseUrl(server.url), { connections: 1 }));
    onTestFinished(async () => void (await Promise.all(backends.map((backend) => backend.end()))));
    let statements = 0;
    const next = () => backends[statements++ % 2] ?? server.sql;
    const pooled = new Proxy(server.sql, { apply: (_, self, given) => Reflect.apply(next(), self, given) });
    const found = await checkServer(pooled, parseDatabaseUrl(server.url), 'tidemark');
    expect(found.find(({ code }) => code === 'pooler')).toEqual({
      code: 'pooler',
      level: 'error',
      message: 'a pooler is between the connector and the server: use the address of the server itself',
      sql: [],
    });
  });

  it('[PG-332] a role that may replicate as a member of rds_replication is taken for one that may, and the grant is what mends it', async () => {
    const { database, address } = await openMended();
    const { sql } = database;
    await sql.unsafe(`ALTER ROLE ${address.user} NOREPLICATION; CREATE ROLE rds_replication`);
    onTestFinished(async () => void (await sql.unsafe('DROP ROLE rds_replication')));
    const found = (await check(address)).filter(({ code }) => code === 'replication_role');
    expect(found.flatMap((finding) => finding.sql)).toEqual([`GRANT rds_replication TO "${address.user}"`]);
    await mend(database, found);
    expect(codes(await check(address))).toEqual(NOTICES);
  });
});
