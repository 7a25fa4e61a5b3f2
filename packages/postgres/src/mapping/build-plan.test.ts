import { type PostgresServer, startPostgres } from '@tidemark/testing/kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { readCatalogue } from '../catalogue/read-catalogue.ts';
import { buildPlan } from './build-plan.ts';
import { MappingError } from './mapping-problems.ts';
import { parseMapping } from './parse-mapping.ts';

let server: PostgresServer;
let catalogue: Catalogue;
beforeAll(async () => {
  server = await startPostgres();
  const { sql } = await server.createDatabase();
  await sql.unsafe(`
    CREATE TABLE orders (id int8 PRIMARY KEY, depot text NOT NULL, state text, number int UNIQUE, due timestamptz(3),
      tail int GENERATED ALWAYS AS (number % 10) STORED);
    CREATE TABLE order_lines (order_id int8 REFERENCES orders, line int2, item text, PRIMARY KEY (order_id, line));
    CREATE TABLE line_notes (id uuid PRIMARY KEY, order_id int8, line int2, body text,
      FOREIGN KEY (order_id, line) REFERENCES order_lines);
    CREATE TABLE tasks (id uuid, login text NOT NULL, PRIMARY KEY (login, id));
    CREATE TABLE crews (login text, depot text, PRIMARY KEY (login, depot));
    CREATE TABLE people (id int PRIMARY KEY, email text NOT NULL UNIQUE, full_name text, password_hash text);
    CREATE TABLE log (at timestamptz, text text);
    CREATE VIEW open_orders AS SELECT * FROM orders;
    CREATE TABLE measures (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
    CREATE TABLE measures_2026 PARTITION OF measures FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
    CREATE SCHEMA "Other"; CREATE TABLE "Other"."Täble" ("Id" int PRIMARY KEY);
    ALTER TABLE crews REPLICA IDENTITY FULL`);
  catalogue = await readCatalogue(sql);
});
afterAll(() => server.remove());

const plan = (mapping: object) => buildPlan(parseMapping(JSON.stringify(mapping), 'map.jsonc'), catalogue, 'map.jsonc');
const typeOf = { int2: 21, int4: 23, int8: 20, text: 25, timestamptz: 1184, uuid: 2950 };
const column = (name: string, type: keyof typeof typeOf, typeModifier = -1) => ({
  name,
  typeId: typeOf[type],
  typeModifier,
});

describe('a mapping joined with the catalogue', () => {
  it('[PG-33] the catalogue has tables with columns, keys, identity and references', () => {
    expect(catalogue.tables.map(({ label, kind }) => [label, kind])).toEqual([
      ['Other.Täble', 'table'],
      ['public.crews', 'table'],
      ['public.line_notes', 'table'],
      ['public.log', 'table'],
      ['public.measures', 'partitioned'],
      ['public.measures_2026', 'partition'],
      ['public.open_orders', 'view'],
      ['public.order_lines', 'table'],
      ['public.orders', 'table'],
      ['public.people', 'table'],
      ['public.tasks', 'table'],
    ]);
    const notes = catalogue.tables.find(({ name }) => name === 'line_notes');
    const crews = catalogue.tables.find(({ name }) => name === 'crews');
    expect(notes).toEqual({
      id: expect.any(Number),
      schema: 'public',
      name: 'line_notes',
      label: 'public.line_notes',
      kind: 'table',
      isLogged: true,
      estimatedRows: null,
      identity: 'default',
      identityColumns: ['id'],
      primaryKey: ['id'],
      uniqueIndexes: [{ name: 'line_notes_pkey', columns: ['id'] }],
      columns: [
        {
          ...column('id', 'uuid'),
          typeName: 'uuid',
          bareTypeName: 'uuid',
          isNullable: false,
          hasDefault: false,
          isGenerated: false,
          isToastable: false,
        },
        {
          ...column('order_id', 'int8'),
          typeName: 'bigint',
          bareTypeName: 'bigint',
          isNullable: true,
          hasDefault: false,
          isGenerated: false,
          isToastable: false,
        },
        {
          ...column('line', 'int2'),
          typeName: 'smallint',
          bareTypeName: 'smallint',
          isNullable: true,
          hasDefault: false,
          isGenerated: false,
          isToastable: false,
        },
        {
          ...column('body', 'text'),
          typeName: 'text',
          bareTypeName: 'text',
          isNullable: true,
          hasDefault: false,
          isGenerated: false,
          isToastable: true,
        },
      ],
      foreignKeys: [
        { columns: ['order_id', 'line'], parent: 'public.order_lines', parentColumns: ['order_id', 'line'] },
      ],
      hasRowSecurity: false,
    });
    expect([crews?.identity, crews?.identityColumns]).toEqual(['full', ['login', 'depot']]);
  });

  it('[PG-34] a plan has the key, the columns with their types, the owner, and whether owners must be kept', () => {
    const mapping = {
      tables: {
        'public.orders': { source: 'orders', owner: { group: 'depot' }, writable: ['state'] },
        'public.order_lines': {
          source: 'lines',
          columns: { item: 'article' },
          owner: { through: ['order_id'], parent: 'public.orders' },
        },
        'public.tasks': { source: 'tasks', owner: { user: 'login' } },
        'Other.Täble': { source: 'other', owner: 'shared' },
      },
      members: { 'public.crews': { user: 'login', group: 'depot' } },
      users: { 'public.people': { login: 'email', attributes: { full_name: 'name' } } },
    };
    const [orders, lines, tasks, other] = [0, 1, 2, 3].map((at) => plan(mapping).tables[at]);
    expect(orders).toEqual({
      schema: 'public',
      name: 'orders',
      label: 'public.orders',
      key: [column('id', 'int8')],
      isPartitioned: false,
      keepsOwners: true,
      source: 'orders',
      sourceType: 'group',
      // The column that the database calculates is not in the stream.
      attributes: [
        { ...column('depot', 'text'), attribute: 'depot' },
        { ...column('state', 'text'), attribute: 'state' },
        { ...column('number', 'int4'), attribute: 'number' },
        { ...column('due', 'timestamptz', 3), attribute: 'due' },
      ],
      owner: { kind: 'group', column: column('depot', 'text') },
      writing: {
        columns: ['state'],
        createColumns: null,
        mayDelete: false,
        mayHandOver: false,
        conflicts: null,
        references: {},
      },
    });
    expect(lines).toEqual({
      schema: 'public',
      name: 'order_lines',
      label: 'public.order_lines',
      key: [column('order_id', 'int8'), column('line', 'int2')],
      isPartitioned: false,
      keepsOwners: true,
      source: 'lines',
      sourceType: 'group',
      attributes: [{ ...column('item', 'text'), attribute: 'article' }],
      owner: { kind: 'through', columns: [column('order_id', 'int8')], parent: 'public.orders' },
      writing: null,
    });
    expect([tasks?.key, tasks?.keepsOwners, tasks?.sourceType, tasks?.attributes]).toEqual([
      [column('login', 'text'), column('id', 'uuid')],
      false,
      'user',
      [],
    ]);
    expect([other?.key, other?.keepsOwners, other?.sourceType]).toEqual([[column('Id', 'int4')], false, 'shared']);
    expect([plan(mapping).members, plan(mapping).users]).toEqual([
      [
        {
          schema: 'public',
          name: 'crews',
          label: 'public.crews',
          key: [column('login', 'text'), column('depot', 'text')],
          isPartitioned: false,
          keepsOwners: false,
          user: column('login', 'text'),
          group: column('depot', 'text'),
        },
      ],
      [
        {
          schema: 'public',
          name: 'people',
          label: 'public.people',
          key: [column('id', 'int4')],
          isPartitioned: false,
          keepsOwners: true,
          login: column('email', 'text'),
          attributes: [{ ...column('full_name', 'text'), attribute: 'name' }],
        },
      ],
    ]);
  });

  const orders = { source: 'orders', owner: { group: 'depot' } };
  const withOrders = (more: object) => ({ tables: { 'public.orders': { ...orders, ...more } } });
  const through = (columns: readonly string[], parent: string) => ({
    source: 'notes',
    owner: { through: columns, parent },
  });
  it.each([
    [{}, 'tables: map at least one table'],
    [
      { tables: { 'public.order': orders } },
      'tables["public.order"]: the database has no table "public.order": did you mean "public.orders"?',
    ],
    [{ tables: { orders } }, 'tables.orders: the database has no table "orders": did you mean "public.orders"?'],
    [
      { tables: { 'public.log': { source: 'log', owner: 'shared' } } },
      'tables["public.log"]: the table has no primary key: add one, or name the columns of a unique index as "key"',
    ],
    [
      { tables: { 'public.open_orders': { source: 'o', owner: 'shared', key: ['id'] } } },
      'tables["public.open_orders"]: is no table: Postgres sends changes of tables only, so map the tables behind it',
    ],
    [
      { tables: { 'public.measures_2026': { source: 'm', owner: 'shared' } } },
      'tables["public.measures_2026"]: is a partition of another table: map that one',
    ],
    [
      withOrders({ owner: { group: 'depots' } }),
      'tables["public.orders"].owner.group: the table "public.orders" has no column "depots": did you mean "depot"?',
    ],
    [
      withOrders({ columns: { stat: 'x' } }),
      'tables["public.orders"].columns.stat: the table "public.orders" has no column "stat": did you mean "state"?',
    ],
    [
      withOrders({ columns: { tail: 'tail' } }),
      'tables["public.orders"].columns.tail: the column "tail" is generated, and Postgres does not send such columns in the stream: take it out',
    ],
    [
      withOrders({ columns: { state: 'x' }, writable: ['due'] }),
      'tables["public.orders"].writable: devices cannot write "due", because "columns" does not send it to them',
    ],
    [
      {
        tables: {
          'public.orders': orders,
          'public.line_notes': {
            ...through(['order_id'], 'public.orders'),
            columns: { order_id: 'order' },
            devices: { create: ['order_id', 'body'] },
          },
        },
      },
      'tables["public.line_notes"].devices.create: devices cannot write "body", because "columns" does not send it to them',
    ],
    [
      withOrders({ devices: { create: true } }),
      'tables["public.orders"].devices.create: devices could create no row, because "id" must not be null and has no default: name it here, or give it a default',
    ],
    [
      withOrders({ writable: ['stat'] }),
      'tables["public.orders"].writable: the table "public.orders" has no column "stat"',
    ],
    [
      {
        tables: {
          'public.orders': orders,
          'public.line_notes': { ...through(['order_id'], 'public.orders'), devices: { create: true } },
        },
      },
      'tables["public.line_notes"].devices.create: devices must give "order_id" to a new row, because it says whose the row is: name it here',
    ],
    [
      withOrders({ key: ['depot'] }),
      'tables["public.orders"].key: no unique index makes sure that these columns identify one row',
    ],
    [
      withOrders({ key: ['number'] }),
      'tables["public.orders"].key: the column "number" may be null: a column of a key must be NOT NULL',
    ],
    [
      { tables: { 'public.orders': orders, 'public.tasks': { ...orders, owner: 'shared' } } },
      'tables["public.tasks"].source: "orders" is the source of "public.orders" already: give each table its own',
    ],
    [
      { tables: { 'public.line_notes': through(['order_id'], 'public.orders') } },
      'tables["public.line_notes"].owner.parent: the table "public.orders" is not mapped',
    ],
    [
      {
        tables: {
          'public.orders': { ...orders, owner: 'shared' },
          'public.line_notes': through(['order_id'], 'public.orders'),
        },
      },
      'tables["public.line_notes"].owner.parent: the rows of "public.orders" are shared: write "owner": "shared" here as well',
    ],
    [
      {
        tables: {
          'public.orders': orders,
          'public.order_lines': { ...through(['order_id'], 'public.orders'), source: 'lines' },
          'public.line_notes': through(['order_id', 'line'], 'public.order_lines'),
        },
      },
      'tables["public.line_notes"].owner.parent: "public.order_lines" has a parent itself, and only one step is followed: add the column with the owner to this table or to "public.order_lines"',
    ],
    [
      { tables: { 'public.orders': orders, 'public.line_notes': through(['order_id', 'line'], 'public.orders') } },
      'tables["public.line_notes"].owner.through: the key of "public.orders" has 1 columns (id): name as many, in the same order',
    ],
    [
      { ...withOrders({}), users: { 'public.people': { login: 'email', attributes: { password_hash: 'p' } } } },
      'users["public.people"].attributes["password_hash"]: looks like a password, which must not leave the database: take it out',
    ],
  ])('[PG-35] the mapping %j does not fit: %s', (mapping, problem) => {
    expect(() => plan(mapping)).toThrow(new MappingError([`map.jsonc: ${problem}`]));
  });
});
