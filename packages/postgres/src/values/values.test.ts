import { readFileSync } from 'node:fs';
import type { JsonValue } from '@tidemark/protocol';
import { type PostgresServer, startPostgres } from '@tidemark/testing/kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readTypes } from '../catalogue/read-types.ts';
import type { Relation, Tuple } from '../replication/message.ts';
import { ReplicationConnection } from '../replication/replication-connection.ts';
import { createPublicationSql, createSlot } from '../replication/slot.ts';
import { openSql } from '../sql/open-sql.ts';
import { parseDatabaseUrl } from '../sql/parse-url.ts';
import { buildConverter } from './build-converter.ts';
import { parseArray } from './parse-array.ts';
import { parseJsonText } from './parse-json-text.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

/** The type of a column, an expression of it in SQL, and what it becomes. */
type Case = readonly [type: string, expression: string, value: JsonValue];

const CASES: readonly Case[] = [
  ['bool', 'true', true],
  ['bool', 'false', false],
  ['int2', '-32768', -32_768],
  ['int4', '2147483647', 2_147_483_647],
  ['oid', '4294967295', 4_294_967_295],
  ['int8', '7', '7'],
  ['int8', '9223372036854775807', '9223372036854775807'],
  ['numeric', '1.10', '1.10'],
  ['numeric(12,2)', '1234567890.5', '1234567890.50'],
  ['numeric', "'NaN'", 'NaN'],
  ['numeric', '12345678901234567890.123456789', '12345678901234567890.123456789'],
  ['float4', '0.1', 0.1],
  ['float8', '0.1::float8 + 0.2::float8', 0.30000000000000004],
  ['float8', "'-0'", -0],
  ['float8', '9007199254740991', 9_007_199_254_740_991],
  ['float8', '9007199254740992', '9.007199254740992e+15'],
  ['float8', "'1e300'", '1e+300'],
  ['float8', "'NaN'", 'NaN'],
  ['float8', "'-Infinity'", '-Infinity'],
  ['money', "'12.50'", '$12.50'],
  ['text', '\'zwölf 🦆 "x" \\ {}\'', 'zwölf 🦆 "x" \\ {}'],
  ['text', "''", ''],
  ['varchar(5)', "'ab '", 'ab '],
  ['char(5)', "'ab'", 'ab'],
  ['"char"', "'c'", 'c'],
  ['uuid', "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
  ['timestamptz', "'2026-03-01 12:00:00.5+02'", '2026-03-01T10:00:00.500000Z'],
  ['timestamptz(3)', "'2026-03-01 12:00:00.1239+00'", '2026-03-01T12:00:00.124Z'],
  ['timestamptz(0)', "'2026-03-01 12:00:00+00'", '2026-03-01T12:00:00Z'],
  ['timestamptz', "'infinity'", 'infinity'],
  ['timestamptz', "'0044-03-15 12:00:00+00 BC'", '0044-03-15 12:00:00+00 BC'],
  ['timestamptz', "'12026-03-01 12:00:00+00'", '12026-03-01 12:00:00+00'],
  ['timestamp', "'2026-03-01 12:00:00'", '2026-03-01T12:00:00.000000'],
  ['timestamp(3)', "'2026-03-01 12:00:00'", '2026-03-01T12:00:00.000'],
  ['date', "'2026-03-01'", '2026-03-01'],
  ['date', "'-infinity'", '-infinity'],
  ['time', "'12:00:00.25'", '12:00:00.25'],
  ['timetz', "'12:00:00+02'", '12:00:00+02'],
  ['interval', "'1 year 2 months 3 days 04:05:06.7'", 'P1Y2M3DT4H5M6.7S'],
  ['interval', "'-1 day'", 'P-1D'],
  ['bytea', "'\\x00ff10'", 'AP8Q'],
  ['bytea', "''", ''],
  ['json', '\'{"a": [1, 2.5, null, "x"]}\'', { a: [1, 2.5, null, 'x'] }],
  ['jsonb', '\'{"id": 9007199254740993, "t": "9007199254740993"}\'', { id: '9007199254740993', t: '9007199254740993' }],
  ['jsonb', "'[1e300, 1e2, -9007199254740993]'", [`1${'0'.repeat(300)}`, 100, '-9007199254740993']],
  ['jsonb', "'null'", null],
  ['jsonb', '\'{"__proto__": 1}\'', '{"__proto__": 1}'],
  ['json', '\'["\\ud800"]\'', '["\\ud800"]'],
  ['jsonb', '\'{"$file": "a name"}\'', '{"$file": "a name"}'],
  ['jsonb', '\'[{"a": {"$file": {"sha256": "00"}}}]\'', '[{"a": {"$file": {"sha256": "00"}}}]'],
  ['jsonb[]', `ARRAY['{"$file": 1}'::jsonb]`, ['{"$file": 1}']],
  ['jsonb', `repeat('[', 27) || repeat(']', 27)`, '['.repeat(27) + ']'.repeat(27)],
  ['int4[]', "'{1,NULL,3}'", [1, null, 3]],
  ['int4[]', "'{}'", []],
  [
    'int4[][]',
    "'{{1,2},{3,4}}'",
    [
      [1, 2],
      [3, 4],
    ],
  ],
  ['int4[]', "'[0:1]={5,6}'", [5, 6]],
  ['int8[]', "'{9007199254740993}'", ['9007199254740993']],
  ['text[]', `ARRAY['a,b', 'NULL', NULL, 'x"y', 'z\\', '', '{}']`, ['a,b', 'NULL', null, 'x"y', 'z\\', '', '{}']],
  ['bool[]', "'{t,f}'", [true, false]],
  ['timestamptz(3)[]', "'{2026-03-01 12:00:00+00}'", ['2026-03-01T12:00:00.000Z']],
  ['jsonb[]', `ARRAY['{"a":1}'::jsonb, 'null'::jsonb]`, [{ a: 1 }, null]],
  ['box[]', "'{(1,1),(0,0);(2,2),(1,1)}'", ['(1,1),(0,0)', '(2,2),(1,1)']],
  ['mood', "'so so'", 'so so'],
  ['mood[]', '\'{"so so",happy}\'', ['so so', 'happy']],
  ['positive', '5', 5],
  ['very_positive', '5', 5],
  ['positive[]', "'{5}'", [5]],
  ['moments', "'{2026-03-01 12:00:00+00}'", ['2026-03-01T12:00:00.000Z']],
  ['pair', "ROW(1, 'a b')", '(1,"a b")'],
  ['int4range', "'[1,5)'", '[1,5)'],
  ['int4multirange', "'{[1,3),[5,7)}'", '{[1,3),[5,7)}'],
  ['point', "'(1,2)'", '(1,2)'],
  ['inet', "'10.0.0.1/8'", '10.0.0.1/8'],
  ['bit(3)', "'101'", '101'],
  ['xml', "'<a/>'", '<a/>'],
  ['tsvector', "'a b'", "'a' 'b'"],
  ['int2vector', "'1 2'", '1 2'],
  ['jsonpath', "'$.a'", '$."a"'],
];

const TYPES = [
  "CREATE TYPE mood AS ENUM ('so so', 'happy')",
  'CREATE DOMAIN positive AS int4 CHECK (VALUE > 0)',
  'CREATE DOMAIN very_positive AS positive CHECK (VALUE > 1)',
  'CREATE DOMAIN moments AS timestamptz(3)[]',
  'CREATE TYPE pair AS (a int, b text)',
];

describe('values of Postgres as JSON', () => {
  it('[PG-20] every type becomes the same JSON by the copy and by the stream', async () => {
    const { url, sql: admin } = await server.createDatabase();
    const address = parseDatabaseUrl(url);
    // Whatever is set for the database or the role does not matter.
    await admin.unsafe(`ALTER ROLE postgres SET DateStyle = 'SQL, DMY'; ALTER ROLE postgres SET TimeZone = 'Asia/Tokyo';
      ALTER ROLE postgres SET IntervalStyle = 'sql_standard'; ALTER ROLE postgres SET bytea_output = 'escape';
      ALTER ROLE postgres SET extra_float_digits = '-5'`);
    onTestFinished(async () => void (await admin`ALTER ROLE postgres RESET ALL`));
    for (const type of TYPES) await admin.unsafe(type);
    const columns = CASES.map(([type], index) => `c${index} ${type}`);
    await admin.unsafe(`CREATE TABLE every (id int PRIMARY KEY, ${columns.join(', ')})`);
    await admin.unsafe(createPublicationSql('all_types', ['every']));
    await createSlot(admin, 'all_types');
    const values = CASES.map(([type, expression]) => `(${expression})::${type}`);
    await admin.unsafe(`INSERT INTO every VALUES (0, ${values.join(', ')})`);

    const connection = ReplicationConnection.open(address);
    onTestFinished(() => connection.close());
    const streamed = await firstRow(connection);
    const sql = openSql(address);
    onTestFinished(() => sql.end());
    const [copied] = await sql.texts('SELECT * FROM every');
    const types = await readTypes(
      sql,
      streamed.relation.columns.map(({ typeId }) => typeId),
    );
    const converters = streamed.relation.columns.map(({ typeId, typeModifier }) =>
      buildConverter(types, typeId, typeModifier),
    );
    const toJson = (texts: readonly (string | null | undefined)[]) =>
      texts.slice(1).map((text, index) => {
        if (typeof text !== 'string') throw new Error(`column ${index} has no text`);
        return [CASES[index]?.[0], CASES[index]?.[1], converters[index + 1]?.(text)];
      });
    expect(toJson(streamed.row)).toEqual(CASES);
    expect(toJson(copied ?? [])).toEqual(CASES);
  });

  it('[PG-21] the page about types names every type that is tested', () => {
    const page = readFileSync(new URL('../../../../docs/reference/postgres-types.md', import.meta.url), 'utf8');
    const builtIn = CASES.map(([type]) => type.replace(/[("[].*$/, '')).filter((type) => /^[a-z0-9]+$/.test(type));
    const missing = [...new Set(builtIn)].filter(
      (type) => !['mood', 'positive', 'moments', 'pair'].includes(type) && !page.includes(`\`${type}\``),
    );
    expect(missing).toEqual([]);
  });

  it('[PG-22] arrays of any depth and content are parsed to what they were', () => {
    const item = fc.oneof(
      fc.constant(null),
      fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
    );
    const write = (value: JsonValue): string => {
      if (Array.isArray(value)) return `{${value.map(write).join(',')}}`;
      return value === null ? 'NULL' : `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`;
    };
    const nested = fc.oneof(fc.array(item), fc.array(fc.array(item, { minLength: 1 }), { minLength: 1 }));
    fc.assert(
      fc.property(nested, (value) => {
        expect(parseArray(write(value), ',', (text) => text)).toEqual(value);
      }),
    );
  });

  it('[PG-22] an array with more elements than a value may have stays text', () => {
    const convert = buildConverter(new Map([[1007, { kind: 'array', elementId: 23, delimiter: ',' }]]), 1007);
    const text = (count: number) => `{${'7,'.repeat(count - 1)}7}`;
    expect([Array.isArray(convert(text(100_000))), convert(text(100_001)) === text(100_001)]).toEqual([true, true]);
  });

  it.each(['', '{', '{1', '{1,}x', '{"a', '{"a\\', '1,2'])('[PG-22] the array %j is refused', (text) => {
    expect(() => parseArray(text, ',', Number)).toThrow(/^an array of Postgres has a mistake at character \d+$/);
  });

  it('[PG-23] JSON without numbers that are too large is parsed as it is, and never refused by a server otherwise', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const parsed = parseJsonText(JSON.stringify(value));
        const asRead = JSON.parse(JSON.stringify(value), (_, member) =>
          typeof member === 'number' && Math.abs(member) > Number.MAX_SAFE_INTEGER
            ? String(JSON.stringify(member))
            : member,
        );
        if (typeof parsed === 'string' && typeof asRead !== 'string')
          expect(JSON.stringify(value)).toContain('__proto__');
        else expect(parsed).toEqual(asRead);
      }),
    );
  });
});

async function firstRow(
  connection: ReplicationConnection,
): Promise<{ readonly relation: Relation; readonly row: Tuple }> {
  let relation: Relation | null = null;
  for await (const arrival of await connection.start({ slot: 'all_types', publication: 'all_types' })) {
    if (arrival.type !== 'data') continue;
    if (arrival.message.type === 'relation') relation = arrival.message.relation;
    if (arrival.message.type === 'insert' && relation !== null) return { relation, row: arrival.message.row };
  }
  throw new Error('the row did not arrive');
}
