import type { JsonValue } from './canonical-json.ts';

/** The names that lead to a value: of an attribute, then of members inside its value. */
export type ParsedPath = readonly [string, ...string[]];

/** Splits a path at its dots. A backslash makes the next character part of the name. */
export function parsePath(path: string): ParsedPath {
  const names = [''];
  for (let at = 0; at < path.length; at++) {
    if (path[at] === '.') names.push('');
    else {
      if (path[at] === '\\') at++;
      names.push(`${names.pop()}${path[at] ?? ''}`);
    }
  }
  return names as [string, ...string[]];
}

/** Returns undefined if there is no such value. Members of arrays are not reached. */
export function valueAt(
  attributes: { readonly [name: string]: JsonValue },
  path: readonly string[],
): JsonValue | undefined {
  let value: JsonValue | undefined = attributes;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) {
      return undefined;
    }
    value = (value as { readonly [name: string]: JsonValue })[name];
  }
  return value;
}
