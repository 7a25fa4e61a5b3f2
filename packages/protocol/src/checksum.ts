import type { JsonValue } from './json/canonical-json.ts';

/**
 * The checksum of a document: the sum, modulo 2^52, of a hash of every (object id, attribute, canonical JSON value).
 * A sum does not depend on order, and is updated by adding the hashes of new values and subtracting those of old ones.
 * 52 bits fit a JavaScript number, so a checksum is a plain number in memory, in JSON and on a device.
 *
 * The hash reads UTF-16 code units, because the languages of devices store strings that way (JavaScript, Kotlin, Dart,
 * C#, and Swift's utf16 view). It reads two units at a time, the first in the lower half; an odd last unit is read alone.
 * The length follows each text, so that ("ab", "c") and ("a", "bc") have different hashes. The hash detects accidental
 * damage; it does not resist an attacker.
 */
const MODULUS = 2 ** 52;
const HIGH_MASK = 0xfffff;

export function addChecksums(left: number, right: number): number {
  return (left + right) % MODULUS;
}

export function subtractChecksums(left: number, right: number): number {
  return (left - right + MODULUS) % MODULUS;
}

/** Returns the checksum of one object; `attributes` maps each attribute to the canonical JSON text of its value. */
export function objectChecksum(id: string, attributes: Iterable<readonly [string, string]>): number {
  hashStart();
  hashText(id);
  const idHigh = high;
  const idLow = low;
  let sum = 0;
  for (const [name, text] of attributes) {
    high = idHigh;
    low = idLow;
    hashText(name);
    hashText(text);
    sum = (sum + hashEnd()) % MODULUS;
  }
  return sum;
}

/** Returns the checksum of an object given as parsed attributes, without making the text of their values. */
export function attributesChecksum(id: string, attributes: Readonly<Record<string, JsonValue>>): number {
  hashStart();
  hashText(id);
  const idHigh = high;
  const idLow = low;
  let sum = 0;
  for (const name of Object.keys(attributes)) {
    high = idHigh;
    low = idLow;
    hashText(name);
    units = 0;
    half = NO_HALF;
    hashValue(attributes[name] as JsonValue);
    if (half !== NO_HALF) hashWord(half);
    hashWord(units);
    sum = (sum + hashEnd()) % MODULUS;
  }
  return sum;
}

/** Strings with these units are not written as they are: control characters, quotes, backslashes, single surrogates. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;
const NO_HALF = -1;
/** The length of the text that `hashPart` was given, and its last unit if that waits for the other half of a word. */
let units = 0;
let half = NO_HALF;

/** Hashes the canonical JSON text of a value, part by part. */
function hashValue(value: JsonValue): void {
  if (typeof value === 'string') hashString(value);
  else if (typeof value !== 'object' || value === null) hashPart(String(value));
  else if (Array.isArray(value)) hashList(value);
  else hashMembers(value as Readonly<Record<string, JsonValue>>);
}

function hashString(value: string): void {
  if (ESCAPED.test(value)) {
    hashPart(JSON.stringify(value));
    return;
  }
  hashPart('"');
  hashPart(value);
  hashPart('"');
}

function hashList(values: readonly JsonValue[]): void {
  let before = '[';
  for (const value of values) {
    hashPart(before);
    hashValue(value);
    before = ',';
  }
  hashPart(values.length === 0 ? '[]' : ']');
}

function hashMembers(value: Readonly<Record<string, JsonValue>>): void {
  const names = Object.keys(value).sort();
  let before = '{';
  for (const name of names) {
    hashPart(before);
    hashString(name);
    hashPart(':');
    hashValue(value[name] as JsonValue);
    before = ',';
  }
  hashPart(names.length === 0 ? '{}' : '}');
}

/** Hashes a part of a text, whose words may begin in one part and end in the next. */
function hashPart(text: string): void {
  const { length } = text;
  units += length;
  let index = 0;
  if (half !== NO_HALF && length > 0) {
    hashWord(half | (text.charCodeAt(0) << 16));
    half = NO_HALF;
    index = 1;
  }
  for (; index + 1 < length; index += 2) hashWord(text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16));
  if (index < length) half = text.charCodeAt(index);
}

/**
 * Returns the checksum of an object given as canonical JSON text, or null unless that text is ASCII, without escapes and
 * of ordinary length. Most objects are, and reading their bytes is several times as fast as `objectChecksum`.
 */
export function plainObjectChecksum(id: string, objectText: string): number | null {
  const { length } = objectText;
  if (length > PLAIN_UNITS_MAX || encoder.encodeInto(objectText, plain).written !== length) return null;
  hashStart();
  hashText(id);
  const idHigh = high;
  const idLow = low;
  let sum = 0;
  let at = 1;
  while (at < length && plain[at] !== CLOSE_BRACE) {
    const nameStart = plain[at] === COMMA ? at + 2 : at + 1;
    const nameEnd = endOfPlainText(nameStart);
    const valueEnd = nameEnd === NOT_PLAIN ? NOT_PLAIN : endOfPlainValue(nameEnd + 2);
    if (valueEnd === NOT_PLAIN) return null;
    high = idHigh;
    low = idLow;
    hashPlain(nameStart, nameEnd);
    hashPlain(nameEnd + 2, valueEnd);
    sum = (sum + hashEnd()) % MODULUS;
    at = valueEnd;
  }
  return sum;
}

const PLAIN_UNITS_MAX = 16_384;
const NOT_PLAIN = -1;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const encoder = new TextEncoder();
/** A buffer for the text. A UTF-16 unit takes at most three bytes, so a text that is not ASCII fits as well. */
const plain = new Uint8Array(3 * PLAIN_UNITS_MAX);

/** Returns the index of the quote that ends the string which starts here. */
function endOfPlainText(start: number): number {
  let at = start;
  for (;;) {
    const unit = plain[at];
    if (unit === QUOTE) return at;
    if (unit === BACKSLASH || at >= PLAIN_UNITS_MAX) return NOT_PLAIN;
    at++;
  }
}

/** Returns the index of the comma or brace behind the value that starts here. */
function endOfPlainValue(start: number): number {
  let depth = 0;
  for (let at = start; at < PLAIN_UNITS_MAX; at++) {
    const unit = plain[at];
    if (unit === QUOTE) {
      at = endOfPlainText(at + 1);
      if (at === NOT_PLAIN) return NOT_PLAIN;
    } else if (depth === 0 && (unit === COMMA || unit === CLOSE_BRACE)) return at;
    else if (isOpening(unit)) depth++;
    else if (isClosing(unit)) depth--;
  }
  return NOT_PLAIN;
}

function isOpening(unit: number | undefined): boolean {
  return unit === OPEN_BRACE || unit === OPEN_BRACKET;
}

function isClosing(unit: number | undefined): boolean {
  return unit === CLOSE_BRACE || unit === CLOSE_BRACKET;
}

function hashPlain(start: number, end: number): void {
  let at = start;
  for (; at + 1 < end; at += 2) hashWord((plain[at] ?? 0) | ((plain[at + 1] ?? 0) << 16));
  if (at < end) hashWord(plain[at] ?? 0);
  hashWord(end - start);
}

/** Returns a short hash of a text that detects damage in transit. */
export function textChecksum(text: string): number {
  hashStart();
  hashText(text);
  return hashEnd();
}

// Two 32-bit lanes kept in module variables: the hash is on the path of every written attribute, and a state object
// per call would cost more than the hash itself.
let high = 0;
let low = 0;

function hashStart(): void {
  high = 0x9e3779b9;
  low = 0x7f4a7c15;
}

function hashWord(word: number): void {
  high = Math.imul(high ^ word, 0x85ebca6b);
  high = (high << 13) | (high >>> 19);
  low = Math.imul(low ^ word, 0xc2b2ae35);
  low = (low << 17) | (low >>> 15);
}

function hashText(text: string): void {
  const { length } = text;
  let index = 0;
  for (; index + 1 < length; index += 2) hashWord(text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16));
  if (index < length) hashWord(text.charCodeAt(index));
  hashWord(length);
}

function hashEnd(): number {
  const first = avalanche(high ^ (low >>> 7));
  const second = avalanche(low ^ Math.imul(first, 0x27d4eb2d));
  return (first & HIGH_MASK) * 2 ** 32 + (second >>> 0);
}

function avalanche(lane: number): number {
  let mixed = Math.imul(lane ^ (lane >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
