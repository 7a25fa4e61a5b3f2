import { utf8Bytes } from '@tidemark/protocol';
import type { ColumnPlan, MembersPlan, TablePlan, UsersPlan } from '../mapping/plan.ts';
import type { OldTuple, Relation, Tuple } from '../replication/message.ts';

/** Column → the text of its value. A column that is absent is unknown: it was not sent because it did not change. */
export type Row = ReadonlyMap<string, string | null>;

/** A table of the mapping, with what its rows become. */
export type MappedTable =
  | { readonly kind: 'objects'; readonly label: string; readonly plan: TablePlan }
  | { readonly kind: 'members'; readonly label: string; readonly plan: MembersPlan }
  | { readonly kind: 'users'; readonly label: string; readonly plan: UsersPlan };

/** The columns that the connector reads, in a stable order. */
export function columnsOf(table: MappedTable): readonly string[] {
  const columns = [...table.plan.key, ...otherColumns(table)];
  return [...new Set(columns.map(({ name }) => name))];
}

function otherColumns(table: MappedTable) {
  if (table.kind === 'members') return [table.plan.user, table.plan.group];
  if (table.kind === 'users') return [table.plan.login, ...table.plan.attributes];
  const { owner, attributes } = table.plan;
  if (owner.kind === 'shared') return attributes;
  return [...attributes, ...(owner.kind === 'through' ? owner.columns : [owner.column])];
}

/** Whether all columns are known. */
export function isWhole(row: Row, columns: readonly string[]): boolean {
  return columns.every((column) => row.has(column));
}

export function rowOf(relation: Relation, tuple: Tuple, wanted: ReadonlySet<string>): Row {
  const row = new Map<string, string | null>();
  for (const [index, { name }] of relation.columns.entries()) {
    const value = tuple[index];
    if (value !== undefined && wanted.has(name)) row.set(name, value);
  }
  return row;
}

/** What an old tuple says; of a tuple of the kind `key` only the columns of the identity. */
export function oldRowOf(relation: Relation, old: OldTuple, wanted: ReadonlySet<string>): Row {
  const row = new Map(rowOf(relation, old.values, wanted));
  if (old.kind === 'full') return row;
  for (const { name, isInIdentity } of relation.columns) if (!isInIdentity) row.delete(name);
  return row;
}

/** Later columns win. */
export function overlaid(below: Row, above: Row): Row {
  return below.size === 0 ? above : new Map([...below, ...above]);
}

/** The text of a column as objects, users and groups are named by it. Undefined: it is unknown. */
export function nameIn(row: Row, { name, isPadded }: NameColumn): string | null | undefined {
  const text = row.get(name);
  return isPadded === true && typeof text === 'string' ? text.replace(/ +$/, '') : text;
}

type NameColumn = Pick<ColumnPlan, 'name' | 'isPadded'>;

/** The names in the columns; null when one of them is null or unknown. */
export function textsOf(row: Row, columns: readonly NameColumn[]): readonly string[] | null {
  const texts = columns.map((column) => nameIn(row, column) ?? null);
  return texts.every((text) => text !== null) ? texts : null;
}

/** About how much memory and body a row takes. */
export function bytesOf(row: Row): number {
  let bytes = 0;
  for (const [column, text] of row) bytes += column.length + 8 + (text === null ? 4 : utf8Bytes(text));
  return bytes;
}
