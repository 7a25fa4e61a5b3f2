import { describe, expect, it } from 'vitest';
import { MappingError } from './mapping-problems.ts';
import { parseMapping } from './parse-mapping.ts';

function problemsOf(value: unknown): readonly string[] {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  try {
    parseMapping(text, 'map.jsonc');
  } catch (error) {
    if (error instanceof MappingError) return error.problems;
    throw error;
  }
  return [];
}

const withTable = (table: object) => ({ tables: { 'public.orders': { source: 'orders', owner: 'shared', ...table } } });

describe('the mapping file', () => {
  it('[PG-30] is JSON with comments, and says in full which tables become which sources', () => {
    const text = `{
      // What the depots work with.
      "slot": "depots",
      "tables": {
        "public.orders": {
          "source": "orders", "key": ["id"], "columns": { "state": "status", },
          "owner": { "group": "depot" }, "writable": ["state"], "conflicts": "detect",
          "devices": { "create": ["due"], "delete": true, "handOver": false },
        },
        "public.lines": { "source": "lines", "owner": { "through": "order_id", "parent": "public.orders" } },
        "public.prices": { "source": "prices", "owner": "shared" },
      },
      "members": { "public.crews": { "user": "login", "group": "depot" } },
      "users": { "public.people": { "login": "email", "attributes": { "full_name": "name" } } },
    }`;
    expect(parseMapping(text, 'map.jsonc')).toEqual({
      publication: 'tidemark',
      slot: 'depots',
      tables: {
        'public.orders': {
          source: 'orders',
          key: ['id'],
          columns: { state: 'status' },
          owner: { group: 'depot' },
          writable: ['state'],
          conflicts: 'detect',
          devices: { create: ['due'], delete: true, handOver: false },
        },
        'public.lines': { source: 'lines', owner: { through: ['order_id'], parent: 'public.orders' } },
        'public.prices': { source: 'prices', owner: 'shared' },
      },
      members: { 'public.crews': { user: 'login', group: 'depot' } },
      users: { 'public.people': { login: 'email', attributes: { full_name: 'name' } } },
    });
  });

  it.each([
    ['{ "tables": { }', 'map.jsonc: is not JSON: there is a mistake at line 1, column 16'],
    [[], 'map.jsonc: expected an object, got a list'],
    [{ table: {} }, 'map.jsonc: table: is unknown: did you mean "tables"?'],
    [{ zebra: {} }, 'map.jsonc: zebra: is unknown: it may have tables, members, users, publication, slot, writing'],
    [
      { slot: 'My Slot' },
      'map.jsonc: slot: the name of a slot has up to 63 lower-case letters, digits and underscores',
    ],
    [{ tables: [] }, 'map.jsonc: tables: expected an object, got a list'],
    [
      withTable({ source: 7 }),
      'map.jsonc: tables["public.orders"].source: expected the name of the source as text, got a number',
    ],
    [
      withTable({ columns: { a: 'x', b: 'x' } }),
      'map.jsonc: tables["public.orders"].columns.a: two columns have the attribute "x": give each another name',
    ],
    [withTable({ key: [] }), 'map.jsonc: tables["public.orders"].key: expected a list of columns, got a list'],
    [withTable({ key: ['a', 'a'] }), 'map.jsonc: tables["public.orders"].key: the column "a" is named twice'],
    [
      withTable({ writeable: [] }),
      'map.jsonc: tables["public.orders"].writeable: is unknown: did you mean "writable"?',
    ],
    [
      withTable({ devices: { create: 'yes' } }),
      'map.jsonc: tables["public.orders"].devices.create: expected true, false or a list of columns, got "yes"',
    ],
    [
      withTable({ devices: { delete: ['a'] } }),
      'map.jsonc: tables["public.orders"].devices.delete: expected true or false, got a list',
    ],
    [
      withTable({ devices: { remove: true } }),
      'map.jsonc: tables["public.orders"].devices.remove: is unknown: it may have create, delete, handOver',
    ],
    [
      withTable({ conflicts: 'merge' }),
      'map.jsonc: tables["public.orders"].conflicts: expected "last_writer" or "detect", got "merge"',
    ],
    [{ writing: { role: '' } }, 'map.jsonc: writing.role: expected a role of the database as text, got ""'],
    [withTable({ owner: 'all' }), expect.stringContaining('.owner: expected "shared", { "user": "column" }')],
    [
      withTable({ owner: { user: 'a', group: 'b' } }),
      expect.stringContaining('.owner: expected "shared", { "user": "column" }'),
    ],
    [
      { members: { 'public.crews': { user: 'a' } } },
      'map.jsonc: members["public.crews"].group: expected a column as text, got nothing',
    ],
    [
      { users: { 'public.people': {} } },
      'map.jsonc: users["public.people"].login: expected a column as text, got nothing',
    ],
  ])('[PG-31] the mapping %j is refused: %s', (value, problem) => {
    expect(problemsOf(value)[0]).toEqual(problem);
  });

  it('[PG-31] everything that is wrong is said at once', () => {
    expect(
      problemsOf({ tables: { 'public.a': { source: '' }, 'public.b': { owner: 'shared' } }, slots: 'x' }).length,
    ).toBe(4);
  });

  it.each([[undefined], ['choose']])(
    '[PG-32] whose the rows are is never assumed: the owner %j is refused',
    (owner) => {
      expect(problemsOf(withTable({ owner }))).toEqual([
        'map.jsonc: tables["public.orders"].owner: decide whose data the rows are: "shared", { "user": "column" }, { "group": "column" } or { "through": ["column"], "parent": "schema.table" }. With "shared" every user gets every row',
      ]);
    },
  );
});
