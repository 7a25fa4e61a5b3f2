import type { JsonValue } from './canonical-json.ts';

/**
 * Texts that sort like values, for stores that compare the bytes of UTF-8. The order is the one of queries: missing, null, false, true,
 * numbers, texts by UTF-16 code units, arrays, objects. Equal values have equal keys, and no others. No key has the character NUL, which
 * ends a text for some databases.
 */
export function sortKey(value: JsonValue | undefined): string {
  return typeof value === 'string' ? `${TEXT}${textKey(value)}` : memberKey(value);
}

/** The first characters of keys, by type. Booleans have one more, numbers 16 digits. */
const [MISSING, NULL, BOOLEAN, NUMBER, TEXT, ARRAY, OBJECT] = ['0', '1', '2', '3', '4', '5', '6'] as const;

/** Ends texts and lists inside a key. It is smaller than whatever else may follow. */
const END = '\u0001';

/** A key that ends where it says, so that others may follow. */
function memberKey(value: JsonValue | undefined): string {
  if (value === undefined) return MISSING;
  if (value === null) return NULL;
  if (typeof value === 'boolean') return `${BOOLEAN}${Number(value)}`;
  if (typeof value === 'number') return `${NUMBER}${numberKey(value)}`;
  if (typeof value === 'string') return `${TEXT}${textKey(value)}${END}`;
  if (Array.isArray(value)) return `${ARRAY}${listKey(value)}`;
  const members = value as { readonly [name: string]: JsonValue };
  const names = Object.keys(members).sort();
  return `${OBJECT}${listKey(names)}${listKey(names.map((name) => members[name] as JsonValue))}`;
}

function listKey(values: readonly JsonValue[]): string {
  return `${values.map(memberKey).join('')}${END}`;
}

const HALF_DIGITS = 8;
const view = new DataView(new ArrayBuffer(HALF_DIGITS));

/** The bits of the number, so that they sort like it: the sign is turned round, and of a negative number everything. */
function numberKey(value: number): string {
  // Adding makes one zero of both.
  view.setFloat64(0, value + 0);
  const isNegative = view.getInt32(0) < 0;
  const high = isNegative ? ~view.getUint32(0) : view.getUint32(0) | 0x80000000;
  const low = isNegative ? ~view.getUint32(HALF_DIGITS / 2) : view.getUint32(HALF_DIGITS / 2);
  return hex(high) + hex(low);
}

function hex(half: number): string {
  return (half >>> 0).toString(16).padStart(HALF_DIGITS, '0');
}

/** Precedes characters that UTF-8 sorts before surrogate pairs, and UTF-16 behind them. */
const BEHIND_PAIRS = '\u{10ffff}';
/** Precedes the characters up to itself, so that `END` is smaller than any character of a text. */
const LOW = '\u0002';
/** Stands for `BEHIND_PAIRS` itself behind it. */
const ITSELF = '\u0003';
const IS_MOVED = new RegExp(`[\\0-${LOW}\\ud800-\\uffff]`);
const MOVED = new RegExp(`[\\0-${LOW}\\ud800-\\udfff\\ue000-\\uffff]|${BEHIND_PAIRS}`, 'gu');
const KEPT = new RegExp(
  `${LOW}([${END}-${ITSELF}])|${BEHIND_PAIRS}(?:${LOW}([\\da-f]{4})|([${ITSELF}\\ue000-\\uffff]))`,
  'gu',
);

/** Returns the text in a form whose bytes in UTF-8 sort as the text does by its UTF-16 code units. */
export function textKey(text: string): string {
  return IS_MOVED.test(text) ? text.replace(MOVED, movedCharacter) : text;
}

/** Returns the text of a key that `textKey` made. */
export function textOfKey(key: string): string {
  return IS_MOVED.test(key) ? key.replace(KEPT, keptCharacter) : key;
}

function movedCharacter(character: string): string {
  if (character === BEHIND_PAIRS) return BEHIND_PAIRS + ITSELF;
  const unit = character.charCodeAt(0);
  if (unit <= LOW.charCodeAt(0)) return LOW + String.fromCharCode(unit + 1);
  // Half a pair has no UTF-8. No server sends it, and where it sorts does not matter.
  return BEHIND_PAIRS + (unit < 0xe000 ? LOW + unit.toString(16) : character);
}

function keptCharacter(
  _: string,
  low: string | undefined,
  half: string | undefined,
  behind: string | undefined,
): string {
  if (low !== undefined) return String.fromCharCode(low.charCodeAt(0) - 1);
  if (half !== undefined) return String.fromCharCode(Number.parseInt(half, 16));
  return behind === ITSELF ? BEHIND_PAIRS : (behind ?? '');
}

/** Keys from the first to before the second. */
export interface KeyRange {
  readonly from: string;
  readonly to: string;
}

/** The keys of this value alone. */
export function keysOf(value: JsonValue | undefined): KeyRange {
  const from = sortKey(value);
  return { from, to: from + END };
}

/** The keys of values of the same type that are smaller, and if `isIncluding` of the value itself. */
export function keysBelow(value: JsonValue, isIncluding: boolean): KeyRange {
  const { from, to } = keysOf(value);
  return { from: from.slice(0, 1), to: isIncluding ? to : from };
}

/** The keys of values of the same type that are greater, and if `isIncluding` of the value itself. */
export function keysAbove(value: JsonValue, isIncluding: boolean): KeyRange {
  const { from, to } = keysOf(value);
  return { from: isIncluding ? from : to, to: String(Number(from.slice(0, 1)) + 1) };
}

/** The keys of texts that begin with this one. */
export function keysWithPrefix(text: string): KeyRange {
  const from = sortKey(text);
  // What stands behind this character is smaller than itself.
  return { from, to: from + BEHIND_PAIRS + BEHIND_PAIRS };
}

/** The keys of objects that have the value, or that do not. */
export function keysOfExisting(exists: boolean): KeyRange {
  return exists ? { from: NULL, to: '7' } : { from: MISSING, to: NULL };
}
