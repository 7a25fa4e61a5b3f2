import type { JsonValue } from '@tidemark/protocol';

/** The value of an attribute; undefined: the object does not have it. */
export type Value = JsonValue | undefined;

/**
 * Compares any two values by one total order: missing, null, false, true, numbers, texts, arrays, objects. Texts are
 * compared by UTF-16 code units, arrays member by member, objects by their sorted names and then by their values.
 * Values that are equal as JSON compare as 0, and no others.
 */
export function compareValues(left: Value, right: Value): number {
  if (left === right) return 0;
  const type = typeof left;
  // First, since almost all values that are sorted are texts or numbers.
  if (type !== 'object' && type === typeof right) return (left as string) < (right as string) ? -1 : 1;
  const rank = typeRank(left) - typeRank(right);
  if (rank !== 0) return rank;
  return Array.isArray(left)
    ? compareMembers(left, right as readonly JsonValue[])
    : compareObjects(left as JsonObject, right as JsonObject);
}

/** Values of different types never compare as greater or smaller in a condition, only in an order. */
export function typeRank(value: Value): number {
  if (value === undefined) return 0;
  if (value === null) return 1;
  if (typeof value === 'boolean') return 2;
  if (typeof value === 'number') return 3;
  if (typeof value === 'string') return 4;
  return Array.isArray(value) ? 5 : 6;
}

type JsonObject = { readonly [name: string]: JsonValue };

function compareMembers(left: readonly Value[], right: readonly Value[]): number {
  for (const [index, value] of left.entries()) {
    if (index >= right.length) return 1;
    const order = compareValues(value, right[index]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareObjects(left: JsonObject, right: JsonObject): number {
  const [names, others] = [Object.keys(left).sort(), Object.keys(right).sort()];
  const order = compareMembers(names, others);
  if (order !== 0) return order;
  return compareMembers(
    names.map((name) => left[name]),
    others.map((name) => right[name]),
  );
}
