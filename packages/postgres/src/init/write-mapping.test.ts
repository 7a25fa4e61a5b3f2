import { parseCommentedJson } from '@tidemark/protocol';
import { startPostgres } from '@tidemark/testing/kit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readCatalogue } from '../catalogue/read-catalogue.ts';
import { buildPlan } from '../mapping/build-plan.ts';
import { MappingError } from '../mapping/mapping-problems.ts';
import { parseMapping } from '../mapping/parse-mapping.ts';
import { writeMapping } from './write-mapping.ts';

const NOTHING = { create: false, delete: false };

describe('a first mapping', () => {
  it('[PG-50] has every table with comments, publishes nothing by itself, and is valid once the owners are decided', async () => {
    const server = await startPostgres();
    onTestFinished(() => server.remove());
    const { sql } = await server.createDatabase();
    await sql.unsafe(`
      CREATE TABLE orders (id int PRIMARY KEY, depot text, assigned_to text, api_token text, total numeric(12,2));
      CREATE TABLE lines (id int PRIMARY KEY, order_id int REFERENCES orders, item text);
      CREATE TABLE crews (depot text, login text, PRIMARY KEY (depot, login));
      CREATE TABLE log (text text);
      CREATE UNLOGGED TABLE visits (id int PRIMARY KEY);
      CREATE TABLE "two\nlines // */" (id int PRIMARY KEY);
      CREATE SCHEMA other; CREATE TABLE other.orders (id int PRIMARY KEY, note text)`);
    const catalogue = await readCatalogue(sql);
    const text = writeMapping(catalogue);
    expect(parseCommentedJson(text)).toEqual({
      publication: 'tidemark',
      slot: 'tidemark',
      tables: {
        'other.orders': {
          source: 'other_orders',
          owner: 'choose',
          columns: { note: 'note' },
          writable: [],
          devices: NOTHING,
        },
        'public.lines': {
          source: 'lines',
          owner: 'choose',
          columns: { order_id: 'order_id', item: 'item' },
          writable: [],
          devices: NOTHING,
        },
        'public.orders': {
          source: 'public_orders',
          owner: 'choose',
          columns: { depot: 'depot', assigned_to: 'assigned_to', total: 'total' },
          writable: [],
          devices: NOTHING,
        },
        'public.two\nlines // */': {
          source: 'two\nlines // */',
          owner: 'choose',
          columns: {},
          writable: [],
          devices: NOTHING,
        },
      },
      members: {},
      users: {},
    });
    const part = text.slice(text.indexOf('    "public.orders": {'), text.indexOf('    "public.two'));
    expect(part).toBe(`    "public.orders": {
      "source": "public_orders",
      // Whose the rows are. It could be:
      //   { "user": "assigned_to" }
      //   { "group": "depot" }
      //   "shared", which gives every row to every user
      "owner": "choose",
      // Left out, because it looks secret: api_token
      "columns": {
        "depot": "depot", // text
        "assigned_to": "assigned_to", // text
        "total": "total", // numeric(12,2)
      },
      // The columns that devices may change, and whether they may create and delete rows.
      "writable": [],
      "devices": { "create": false, "delete": false },
    },
    // The key is id.
`);
    expect(text).toContain('//   { "through": ["order_id"], "parent": "public.orders" }');
    expect(text).toContain('// "public.crews": { "user": "login", "group": "depot" },');
    expect(text).toContain(
      '// public.log has no primary key: give it one, or map it with the columns of a unique index as "key".',
    );
    expect(text).toContain('// public.visits is unlogged: Postgres sends changes of logged tables only');
    expect(() => parseMapping(text, 'map.jsonc')).toThrow(MappingError);
    const decided = parseMapping(text.replaceAll('"choose"', '"shared"'), 'map.jsonc');
    expect(buildPlan(decided, catalogue, 'map.jsonc').tables.length).toBe(4);
  });
});
