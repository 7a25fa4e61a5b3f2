import type { JsonValue } from './canonical-json.ts';

/** True if two values are equal as JSON; the order of keys does not matter. */
export function sameJson(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  const one = left as { readonly [name: string]: JsonValue };
  const other = right as { readonly [name: string]: JsonValue };
  return names.every((name) => Object.hasOwn(other, name) && sameJson(one[name], other[name]));
}
