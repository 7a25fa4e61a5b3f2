import { FILE_KEY, fileFlawIn, type JsonValue, parseJson, VALUE_MEMBERS_MAX } from '@tidemark/protocol';

/** Tidemark allows 32 levels unless it is configured otherwise; up to six are left for the dimensions of an array. */
const DEPTH_MAX = 26;

/** Only such a text can have a number that is beyond ±(2^53 − 1). */
const HAS_LONG_NUMBER = /[0-9]{16}|[0-9][eE]/;
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;

/**
 * Parses a value of `json` or `jsonb`. Numbers inside that Tidemark refuses become text. A value that it refuses altogether,
 * because of its depth, its size, the key `__proto__`, half characters or a malformed reference to a file, stays text as a whole.
 */
export function parseJsonText(text: string): JsonValue {
  const safe = HAS_LONG_NUMBER.test(text) ? text.replaceAll(STRING_OR_NUMBER, quotedIfUnsafe) : text;
  const value = parseJson(safe) as JsonValue;
  return fitsTidemark(value, DEPTH_MAX) ? value : text;
}

function quotedIfUnsafe(token: string): string {
  return token.startsWith('"') || Math.abs(Number(token)) <= Number.MAX_SAFE_INTEGER ? token : `"${token}"`;
}

/** Whether a server takes the value, apart from its bytes. */
export function fitsTidemark(value: JsonValue, depthMax = 32): boolean {
  return fits(value, depthMax, { members: VALUE_MEMBERS_MAX });
}

function fits(value: JsonValue, depth: number, budget: { members: number }): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return false;
  const items: readonly JsonValue[] = Array.isArray(value) ? value : Object.values(value);
  budget.members -= items.length;
  if (budget.members < 0) return false;
  // A reference to a file that is malformed would refuse the whole row.
  if (Object.hasOwn(value, FILE_KEY) && fileFlawIn(value) !== null) return false;
  if (!Array.isArray(value) && !Object.keys(value).every((key) => key !== '__proto__' && key.isWellFormed()))
    return false;
  return items.every((item) => fits(item, depth - 1, budget));
}
