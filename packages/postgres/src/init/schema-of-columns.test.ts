import { startPostgres } from '@tidemark/testing/kit';
import { expect, it, onTestFinished } from 'vitest';
import { readCatalogue } from '../catalogue/read-catalogue.ts';
import { MappingError } from '../mapping/mapping-problems.ts';
import { parseMapping } from '../mapping/parse-mapping.ts';
import { schemaOfColumns } from './schema-of-columns.ts';

const MAPPING = {
  tables: {
    'public.customers': { source: 'Customer', owner: 'shared' },
    'public.orders': { source: 'Order', owner: 'shared', columns: { state: 'status', total: 'total' } },
    'public.lines': {
      source: 'Line',
      owner: 'shared',
      writable: ['note', 'amount', 'customer_id', 'made_at'],
      devices: { create: ['small'] },
    },
  },
};

async function database() {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const { sql } = await server.createDatabase();
  await sql.unsafe(`
    CREATE TYPE state AS ENUM ('open', 'done');
    CREATE DOMAIN code AS varchar(8);
    CREATE TABLE customers (id uuid PRIMARY KEY, name text NOT NULL);
    CREATE TABLE orders (id int PRIMARY KEY, state state NOT NULL, total numeric(12,2), secret text);
    CREATE TABLE lines (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text, amount float8 NOT NULL,
      customer_id uuid REFERENCES customers, order_id int REFERENCES orders, small int2 NOT NULL DEFAULT 0,
      made_at timestamptz NOT NULL DEFAULT now(), day date, at timestamp, big int8, isit bool, short varchar(5), fixed char(2),
      codes code[], matrix int[][], data jsonb, states state[], mood state, twice float8 GENERATED ALWAYS AS (amount * 2) STORED)`);
  return readCatalogue(sql);
}

it('[PG-370] the columns of a table say what the attributes of its source are, whatever their types', async () => {
  const catalogue = await database();
  const mapping = parseMapping(JSON.stringify(MAPPING), 'map.jsonc');
  const found = (source: string) => schemaOfColumns(source, { mapping, catalogue, file: 'map.jsonc' });
  expect(found('Order')).toEqual({
    table: 'public.orders',
    schema: {
      properties: { status: { enum: ['open', 'done'] }, total: { type: ['string', 'null'] } },
      required: ['status'],
    },
  });
  const text = { type: ['string', 'null'] };
  expect(found('Line')).toEqual({
    table: 'public.lines',
    schema: {
      properties: {
        note: text,
        amount: { type: 'number' },
        customer_id: { type: ['string', 'null'], format: 'uuid', reference: 'Customer' },
        order_id: { type: ['integer', 'null'] },
        small: { type: 'integer' },
        made_at: { type: 'string', format: 'date-time' },
        day: { type: ['string', 'null'], format: 'date' },
        at: text,
        big: text,
        isit: { type: ['boolean', 'null'] },
        short: { type: ['string', 'null'], maxLength: 5 },
        fixed: { type: ['string', 'null'], maxLength: 2 },
        codes: { type: ['array', 'null'], items: { type: 'string', maxLength: 8 } },
        matrix: { type: ['array', 'null'], items: { type: 'integer' } },
        data: {},
        states: { type: ['array', 'null'], items: { enum: ['open', 'done'] } },
        mood: { enum: ['open', 'done', null] },
      },
      // What devices create need not have what has a default, or what they cannot give.
      required: ['amount'],
    },
  });
  expect(found('Customer')?.schema.required).toEqual(['name']);
  expect(found('Nothing')).toBeNull();
});

it('[PG-370] a mapping that does not fit the database gives no schema, but says what is wrong', async () => {
  const catalogue = await database();
  const mapping = parseMapping(
    JSON.stringify({ tables: { 'public.gone': { source: 'Gone', owner: 'shared' } } }),
    'map.jsonc',
  );
  expect(() => schemaOfColumns('Gone', { mapping, catalogue, file: 'map.jsonc' })).toThrow(MappingError);
});
