import { Rejected } from '@tidemark/backend';
import type { JsonValue } from '@tidemark/protocol';
import { quoteIdentifier, quoteTable } from '../sql/quote.ts';
import { isPadded, type LeafType } from '../values/leaf-type.ts';
import type { TypedColumn, WrittenTable } from './written-table.ts';

export interface Statement {
  readonly text: string;
  readonly parameters: readonly (string | null)[];
}

/** Column → the value that a device has sent. */
export type Values = ReadonlyMap<TypedColumn, JsonValue>;

/**
 * Inserts a row. It returns the key as texts `k0`, `k1` …, and as `owner` whose the row has become: triggers and defaults may
 * have changed what was sent.
 */
export function insertStatement(table: WrittenTable, values: Values): Statement {
  const names = [...values.keys()].map(({ name }) => quoteIdentifier(name)).join(', ');
  const into = `INSERT INTO ${quoteTable(table)} AS t`;
  const returning = `RETURNING ${[...keyTexts(table), `${ownerOf(table)} AS owner`].join(', ')}`;
  if (values.size === 0) return { text: `${into} DEFAULT VALUES ${returning}`, parameters: [] };
  const selected = [...values.keys()].map(({ name }) => `x.${quoteIdentifier(name)}`).join(', ');
  return {
    text: `${into} (${names}) SELECT ${selected} FROM ${recordOf(values, '$1')} ${returning}`,
    parameters: [recordText(values)],
  };
}

/** Which row, whose it must be (null: anybody's), and the values that its columns must still have. */
export interface Row {
  readonly key: readonly string[];
  readonly owner: string | null;
  readonly seen: Values;
}

/** Changes one row. If it did, it returns as `owner` whose the row has become. */
export function updateStatement(table: WrittenTable, row: Row, values: Values): Statement {
  const parameters: (string | null)[] = [recordText(values)];
  const settings = [...values.keys()].map(({ name }) => `${quoteIdentifier(name)} = x.${quoteIdentifier(name)}`);
  const seen = seenCondition(row, parameters);
  const where = [...rowConditions(table, row, parameters), ...seen].join(' AND ');
  const set = `UPDATE ${quoteTable(table)} AS t SET ${settings.join(', ')} FROM ${recordOf(values, '$1')}`;
  return { text: `${set} WHERE ${where} RETURNING ${ownerOf(table)} AS owner`, parameters };
}

/** Deletes one row. It returns a row if it did. */
export function deleteStatement(table: WrittenTable, row: Row): Statement {
  const parameters: (string | null)[] = [];
  const seen = seenCondition(row, parameters);
  const where = [...rowConditions(table, row, parameters), ...seen].join(' AND ');
  return { text: `DELETE FROM ${quoteTable(table)} AS t WHERE ${where} RETURNING 1`, parameters };
}

/** Finds one row, and says as `is_as_seen` whether it is as the device saw it. */
export function findStatement(table: WrittenTable, row: Row): Statement {
  const parameters: (string | null)[] = [];
  const seen = ['true', ...seenCondition(row, parameters)].join(' AND ');
  const where = rowConditions(table, row, parameters).join(' AND ');
  return { text: `SELECT (${seen})::text AS is_as_seen FROM ${quoteTable(table)} AS t WHERE ${where}`, parameters };
}

function seenCondition({ seen }: Row, parameters: (string | null)[]): readonly string[] {
  if (seen.size === 0) return [];
  const values = recordOf(seen, `$${parameters.push(recordText(seen))}`, 's');
  const isSame = [...seen.keys()].map(({ name, leaf }) => {
    const [now, then] = ['t', 's'].map((alias) => comparable(`${alias}.${quoteIdentifier(name)}`, leaf));
    return `${now} IS NOT DISTINCT FROM ${then}`;
  });
  return [`(SELECT ${isSame.join(' AND ')} FROM ${values})`];
}

const BYTEA = 17;
const JSON_TYPE = 114;
const JSONB = 3802;
/** xml, point, lseg, path, box, polygon, line, circle: they have no equality, or one that compares areas. */
const COMPARED_AS_TEXT: ReadonlySet<number> = new Set([142, 600, 601, 602, 603, 604, 628, 718]);

/** What two values are compared by. Devices have the JSON value null for SQL's NULL as well. */
function comparable(value: string, { typeId, isList }: LeafType): string {
  if (COMPARED_AS_TEXT.has(typeId)) return `${value}::text`;
  if (typeId !== JSON_TYPE && typeId !== JSONB) return value;
  const json = typeId === JSONB ? value : `${value}::text::jsonb${isList ? '[]' : ''}`;
  return isList ? json : `nullif(${json}, 'null'::jsonb)`;
}

function keyTexts({ key }: WrittenTable): readonly string[] {
  return key.map((column, at) => `${asNamed('t', column)} AS k${at}`);
}

/**
 * The value as objects and owners are named by it: as the stream sends it, without the blanks that fill it up. `::text` writes some
 * types in another way.
 */
function asNamed(alias: string, { name, leaf }: TypedColumn): string {
  const value = `format('%s', ${alias}.${quoteIdentifier(name)})`;
  return isPadded(leaf) ? `rtrim(${value}, ' ')` : value;
}

/** Whose the row `t` is, as text. An empty text is no name. */
function ownerOf({ owner }: WrittenTable): string {
  if (owner.kind === 'shared') return 'NULL';
  if (owner.kind !== 'through') return `nullif(${asNamed('t', owner.column)}, '')`;
  const { columns, parent } = owner;
  const joined = parent.key.map((name, at) => `p.${quoteIdentifier(name)} = t.${quoteIdentifier(columns[at] ?? '')}`);
  const column = `nullif(${asNamed('p', parent.ownerColumn)}, '')`;
  return `(SELECT ${column} FROM ${quoteTable(parent)} AS p WHERE ${joined.join(' AND ')})`;
}

/** Adds to the parameters what the conditions need. */
function rowConditions(table: WrittenTable, { key, owner }: Row, parameters: (string | null)[]): readonly string[] {
  const parameter = (value: string) => `$${parameters.push(value)}::text`;
  const isRow = table.key.flatMap((column, at) => {
    const given = parameter(key[at] ?? '');
    const isSame = `t.${quoteIdentifier(column.name)} = CAST(${given} AS ${column.typeName})`;
    // "01" is the same number as "1", but no object has this id.
    return [isSame, `${asNamed('t', column)} = ${given}`];
  });
  return owner === null ? isRow : [...isRow, `${ownerOf(table)} = ${parameter(owner)}`];
}

/** The values as a row with the types of the columns: the database converts JSON to each of them. */
function recordOf(values: Values, parameter: string, alias = 'x'): string {
  const columns = [...values.keys()].map(({ name, typeName }) => `${quoteIdentifier(name)} ${typeName}`);
  return `jsonb_to_record(${parameter}::text::jsonb) AS ${alias}(${columns.join(', ')})`;
}

function recordText(values: Values): string {
  const members = [...values].map(([{ name, leaf }, value]) => [name, asInput(value, leaf)]);
  return JSON.stringify(Object.fromEntries(members));
}

/** Devices have bytes as base64, which Postgres does not read. */
function asInput(value: JsonValue, leaf: LeafType): JsonValue {
  if (leaf.typeId !== BYTEA) return value;
  if (Array.isArray(value)) return value.map((element: JsonValue) => asInput(element, leaf));
  if (typeof value !== 'string') return value;
  const bytes = Buffer.from(value, 'base64');
  // What is no base64 is skipped by the decoder, so that other bytes would be stored.
  if (bytes.toString('base64') !== value) throw new Rejected('bytes must be sent as base64');
  return `\\x${bytes.toString('hex')}`;
}
