/**
 * True if a value is valid and `JSON.stringify` writes it in canonical form. `budget` counts the items and members that are
 * still allowed; a value with more is not checked to its end.
 */
export function isCanonical(value: unknown, depth: number, budget: { members: number }): boolean {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed();
    case 'number':
      return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
    case 'boolean':
      return true;
    case 'object':
      if (value === null) return true;
      return (
        depth > 0 && (Array.isArray(value) ? isList(value, depth - 1, budget) : isObject(value, depth - 1, budget))
      );
    default:
      return false;
  }
}

function isList(list: readonly unknown[], depth: number, budget: { members: number }): boolean {
  budget.members -= list.length;
  if (budget.members < 0 || Object.getPrototypeOf(list) !== Array.prototype || 'toJSON' in list) return false;
  for (const item of list) {
    if (!isCanonical(item, depth, budget)) return false;
  }
  return true;
}

function isObject(object: object, depth: number, budget: { members: number }): boolean {
  if (!isPlain(object)) return false;
  const keys = Object.keys(object);
  budget.members -= keys.length;
  if (budget.members < 0) return false;
  let last = '';
  for (const key of keys) {
    // The canonical form has the members in the order of their keys.
    if (key < last || key === '__proto__' || !key.isWellFormed()) return false;
    if (!isCanonical((object as Readonly<Record<string, unknown>>)[key], depth, budget)) return false;
    last = key;
  }
  return true;
}

/** Objects of other classes are excluded, because their `toJSON` may write something else. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === Object.prototype || prototype === null;
}

/** The largest object that `wholeText` writes: attributes, items and members of values together. */
const WHOLE_TEXT_MEMBERS_MAX = 256;

/**
 * Returns the JSON text of an object whose names were all checked before and whose values are in canonical form. One call
 * of `JSON.stringify` is faster than `admitValue` for each attribute. Returns null for any other object: `admitValue`
 * then brings its values into canonical form, or refuses them.
 */
export function wholeText(
  object: Readonly<Record<string, unknown>>,
  names: readonly string[],
  rules: { readonly goodNames: ReadonlySet<string>; readonly depthMax: number },
): string | null {
  if (!isPlain(object)) return null;
  const budget = { members: WHOLE_TEXT_MEMBERS_MAX - names.length };
  if (budget.members < 0) return null;
  for (const name of names) {
    if (!rules.goodNames.has(name) || !isCanonical(object[name], rules.depthMax, budget)) return null;
  }
  return JSON.stringify(object);
}
