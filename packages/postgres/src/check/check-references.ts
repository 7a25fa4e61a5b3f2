import type { ColumnPlan, Plan, TablePlan } from '../mapping/plan.ts';
import { leafType } from '../values/leaf-type.ts';
import type { Types } from '../values/type-info.ts';
import type { Finding } from './finding.ts';

/** int2, int4, int8, oid; text, varchar, char(n), name: equal values of one row have the same text, whichever of the types they have. */
const ALIKE: readonly (readonly number[])[] = [
  [21, 23, 20, 26],
  [25, 1043, 1042, 19],
];
/** bool, bytea, date, timestamp, timestamptz, uuid, inet: equal values have the same text. */
const EXACT: ReadonlySet<number> = new Set([16, 17, 1082, 1114, 1184, 2950, 869]);
const NUMERIC = 1700;

/** Finds references whose text may differ from that of the key that they are equal to: a parent is found by its text. */
export function checkReferences({ tables }: Plan, types: Types): readonly Finding[] {
  return tables.flatMap((table) => {
    const { owner } = table;
    const parent = owner.kind === 'through' ? tables.find(({ label }) => label === owner.parent) : undefined;
    if (owner.kind !== 'through' || parent === undefined) return [];
    return owner.columns.flatMap((column, at) => {
      const key = parent.key[at];
      return key === undefined || haveSameText(column, key, types) ? [] : [warning(table, column, parent)];
    });
  });
}

function haveSameText(one: ColumnPlan, other: ColumnPlan, types: Types): boolean {
  const [left, right] = [one, other].map(({ typeId }) => leafType(types, typeId));
  if (left === undefined || right === undefined || left.isList !== right.isList) return false;
  // A column that does not exist is a finding of its own.
  if (left.typeId === 0 || right.typeId === 0) return true;
  if (ALIKE.some((alike) => alike.includes(left.typeId) && alike.includes(right.typeId))) return true;
  if (left.typeId !== right.typeId) return false;
  // Of the same precision and scale, numbers have the same digits.
  if (left.typeId === NUMERIC) return one.typeModifier >= 0 && one.typeModifier === other.typeModifier;
  return EXACT.has(left.typeId) || types.get(left.typeId)?.kind === 'enum';
}

function warning({ label }: TablePlan, { name }: ColumnPlan, parent: TablePlan): Finding {
  const message =
    `"${name}" of "${label}" may be written in another way than the key of "${parent.label}" that it is equal to (small and large ` +
    'letters, digits after the point): a row waits until both have the same text, so write them alike';
  return { code: 'reference_text', level: 'warning', message, sql: [] };
}
