import { damaged } from './sqlite-error.ts';

/** What begins an escaped text. */
const ESCAPED = '!';
/** NUL ends a text for some drivers, and half a surrogate pair has no UTF-8. */
const AWKWARD = /^!|[\0\ud800-\udfff]/;

/** Returns the form in which a key is stored: the key itself, unless SQLite could not give it back. */
export function storedText(key: string): string {
  return AWKWARD.test(key) ? ESCAPED + JSON.stringify(key) : key;
}

export function keyIn(stored: string): string {
  return stored.startsWith(ESCAPED) ? (JSON.parse(stored.slice(ESCAPED.length)) as string) : stored;
}

/** Returns a text of a row. SQLite gives back something else where a row is damaged. */
export function storedTextOf(value: unknown): string {
  if (typeof value !== 'string') throw damaged(new Error('a row has no text where it was given one'));
  return value;
}
