import type { JsonValue } from '@tidemark/protocol';
import { type PostgresServer, startPostgres } from '@tidemark/testing/kit';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { readCatalogue } from '../catalogue/read-catalogue.ts';
import { buildPlan } from '../mapping/build-plan.ts';
import { parseMapping } from '../mapping/parse-mapping.ts';
import { openSql } from '../sql/open-sql.ts';
import { parseDatabaseUrl } from '../sql/parse-url.ts';
import { OPERATIONS_SQL } from './operations.ts';
import { type RowCall, RowWriter } from './row-writer.ts';
import { writtenTables } from './written-tables.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

/** A writer for the table `parts`, with the columns as they are now. */
async function openParts(columns: string, ...types: readonly string[]) {
  const { url, sql } = await server.createDatabase();
  for (const type of types) await sql.unsafe(type);
  await sql.unsafe(`CREATE TABLE parts (${columns}, depot char(6) NOT NULL)`);
  for (const statement of OPERATIONS_SQL) await sql.unsafe(statement);
  const own = openSql(parseDatabaseUrl(url));
  onTestFinished(() => own.end());
  const table = {
    ...{ source: 'Part', owner: { group: 'depot' }, columns: { code: 'code', name: 'name', price: 'price' } },
    ...{ writable: ['name', 'price'], devices: { create: ['code'], delete: true } },
  };
  const mapping = parseMapping(JSON.stringify({ tables: { 'public.parts': table } }), 'map.jsonc');
  const catalogue = await readCatalogue(own);
  const tables = writtenTables(buildPlan(mapping, catalogue, 'map.jsonc'), catalogue);
  const writer = new RowWriter({ sql: own, connector: 'field', tables });
  let count = 0;
  const write = (call: Partial<RowCall>) => {
    const whole = {
      source: 'Part',
      user_id: 'ada',
      group: 'north',
      op_id: `op-${count++}`,
      attributes: {},
      removed: [],
    };
    return writer.write({ ...whole, ...call } as RowCall);
  };
  return { sql, write };
}

it('[PG-258] columns that get longer or more precise take the values of devices as they are, without a restart', async () => {
  const { sql, write } = await openParts('code text PRIMARY KEY, name varchar(5), price numeric(4,1)');
  const id = await write({ op: 'create', id: 'temporary', attributes: { code: 'a', name: 'Pump', price: '1.5' } });
  await sql.unsafe('ALTER TABLE parts ALTER name TYPE varchar(20), ALTER price TYPE numeric(8,3)');
  await write({ op: 'update', id, attributes: { name: 'Pump and valve', price: '1.125' } });
  expect([...(await sql`SELECT name, price FROM parts`)]).toEqual([{ name: 'Pump and valve', price: '1.125' }]);
});

it.each([
  ['char(5)', 'ab', 'ab'],
  ['inet', '10.0.0.1', '10.0.0.1'],
  ['boolean', true, 't'],
])(
  '[PG-259] a new row with a key of the type %s has the id under which the stream brings it',
  async (type, code, id) => {
    const { sql, write } = await openParts(`code ${type} PRIMARY KEY, name text, price int`);
    expect(await write({ op: 'create', id: 'temporary', attributes: { code, name: 'a' } })).toBe(id);
    await write({ op: 'update', id, attributes: { name: 'b' } });
    expect([...(await sql`SELECT name FROM parts`)]).toEqual([{ name: 'b' }]);
    await write({ op: 'delete', id });
    expect([...(await sql`SELECT name FROM parts`)]).toEqual([]);
  },
);

it('[PG-141] bytes of devices are stored as they were sent in domains and lists of them, too', async () => {
  const types = ['CREATE DOMAIN picture AS bytea', 'CREATE DOMAIN pictures AS picture[]'];
  const { sql, write } = await openParts('code text PRIMARY KEY, name picture, price pictures', ...types);
  const attributes = { code: 'a', name: 'AP8Q', price: ['AP8Q', null, ''] };
  const id = await write({ op: 'create', id: 'temporary', attributes });
  await write({ op: 'update', id, attributes: { price: ['AP8Q'] }, seen: { name: 'AP8Q', price: attributes.price } });
  expect([...(await sql`SELECT encode(name, 'hex') AS name, price::text FROM parts`)]).toEqual([
    { name: '00ff10', price: '{"\\\\x00ff10"}' },
  ]);
  await expect(write({ op: 'update', id, attributes: { name: 'no base64!' } })).rejects.toThrow('base64');
});

it.each([
  ['json', 'a domain of json', '{"a": [1,2]}', { a: [1, 2] }, { a: [1, 3] }],
  ['json[]', 'a list of json', '{"{\\"a\\":  1}"}', [{ a: 1 }], [{ a: 2 }]],
  ['jsonb', 'the JSON value null', 'null', null, 1],
  ['json', 'the JSON value null as text', 'null', null, 1],
  ['point', 'a domain of points', '(1,2)', '(1,2)', '(1,3)'],
])(
  '[PG-145] an update of a column of %s is a conflict only when it has another value than the device saw: %s',
  async (type, _what, stored, seen, other) => {
    const { sql, write } = await openParts(
      'code text PRIMARY KEY, name note, price int',
      `CREATE DOMAIN note AS ${type}`,
    );
    const id = await write({ op: 'create', id: 'temporary', attributes: { code: 'a', price: 1 } });
    await sql`UPDATE parts SET name = ${stored}::text::note`;
    const update = (value: JsonValue) =>
      write({ op: 'update', id, attributes: { price: 2 }, seen: { name: value } } as Partial<RowCall>);
    await expect(update(other)).rejects.toThrow('somebody else has changed it');
    await update(seen);
    expect([...(await sql`SELECT price FROM parts`)]).toEqual([{ price: 2 }]);
  },
);
