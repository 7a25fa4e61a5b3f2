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
  const idHigh = lanes[0] ?? 0;
  const idLow = lanes[1] ?? 0;
  let sum = 0;
  for (const [name, text] of attributes) {
    setLanes(idHigh, idLow);
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
  const idHigh = lanes[0] ?? 0;
  const idLow = lanes[1] ?? 0;
  let sum = 0;
  // Faster than a loop over `Object.keys`.
  for (const name in attributes) {
    if (!Object.hasOwn(attributes, name)) continue;
    setLanes(idHigh, idLow);
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

/** Marks the units that are not written as they are: control characters, quotes, backslashes, and surrogates, which may be single. */
const ESCAPED = new Uint8Array(2 ** 16)
  .fill(1, 0, 0x20)
  .fill(1, 0x22, 0x23)
  .fill(1, 0x5c, 0x5d)
  .fill(1, 0xd800, 0xe000);
const NO_HALF = -1;
/** The length of the text that was hashed in parts, and its last unit if that waits for the other half of a word. */
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
  const { length } = value;
  if (length === 0) {
    hashPart('""');
    return;
  }
  const highBefore = lanes[0] ?? 0;
  const lowBefore = lanes[1] ?? 0;
  // Each quote is hashed in one word with the unit beside it.
  const start = half === NO_HALF ? 1 : 0;
  const first = value.charCodeAt(0);
  hashWord(start === 1 ? QUOTE | (first << 16) : half | (QUOTE << 16));
  const hasLast = (length - start) % 2 === 1;
  const last = value.charCodeAt(length - 1);
  const escapes = hashWords(value, start) | (ESCAPED[first] ?? 0) | (ESCAPED[last] ?? 0);
  if (escapes === 0) {
    if (hasLast) hashWord(last | (QUOTE << 16));
    half = hasLast ? NO_HALF : QUOTE;
    units += length + 2;
    return;
  }
  // JSON writes it with escapes, which is known only now: looking at every string twice would cost more.
  setLanes(highBefore, lowBefore);
  hashPart(JSON.stringify(value));
}

function hashList(values: readonly JsonValue[]): void {
  let before = OPEN_BRACKET;
  for (const value of values) {
    hashUnit(before);
    hashValue(value);
    before = COMMA;
  }
  if (values.length === 0) hashUnit(OPEN_BRACKET);
  hashUnit(CLOSE_BRACKET);
}

function hashMembers(value: Readonly<Record<string, JsonValue>>): void {
  const names = Object.keys(value).sort();
  let before = OPEN_BRACE;
  for (const name of names) {
    hashUnit(before);
    hashString(name);
    hashUnit(COLON);
    hashValue(value[name] as JsonValue);
    before = COMMA;
  }
  if (names.length === 0) hashUnit(OPEN_BRACE);
  hashUnit(CLOSE_BRACE);
}

/** Hashes one unit of a text. */
function hashUnit(unit: number): void {
  units++;
  if (half === NO_HALF) half = unit;
  else {
    hashWord(half | (unit << 16));
    half = NO_HALF;
  }
}

/** Hashes a part of a text, whose words may begin in one part and end in the next. */
function hashPart(text: string): void {
  const { length } = text;
  const start = half === NO_HALF ? 0 : 1;
  if (start === 1) hashWord(half | (text.charCodeAt(0) << 16));
  hashWords(text, start);
  half = (length - start) % 2 === 1 ? text.charCodeAt(length - 1) : NO_HALF;
  units += length;
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
  const idHigh = lanes[0] ?? 0;
  const idLow = lanes[1] ?? 0;
  let sum = 0;
  let at = 1;
  while (at < length && plain[at] !== CLOSE_BRACE) {
    const nameStart = plain[at] === COMMA ? at + 2 : at + 1;
    const nameEnd = endOfPlainText(nameStart);
    const valueEnd = nameEnd === NOT_PLAIN ? NOT_PLAIN : endOfPlainValue(nameEnd + 2);
    if (valueEnd === NOT_PLAIN) return null;
    setLanes(idHigh, idLow);
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
const COLON = 0x3a;
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

// The two 32-bit lanes of the hash. The hash is on the path of every written attribute, where a state object per call would
// cost more than the hash itself, and browsers allocate memory for every whole number of 32 bits in a plain variable.
const lanes = new Int32Array(2);

function setLanes(high: number, low: number): void {
  lanes[0] = high;
  lanes[1] = low;
}

function hashStart(): void {
  setLanes(0x9e3779b9, 0x7f4a7c15);
}

function hashWord(word: number): void {
  const high = Math.imul((lanes[0] ?? 0) ^ word, 0x85ebca6b);
  const low = Math.imul((lanes[1] ?? 0) ^ word, 0xc2b2ae35);
  setLanes((high << 13) | (high >>> 19), (low << 17) | (low >>> 15));
}

/** Hashes the whole words of a text from an index on. Returns a number that is not 0 if JSON escapes one of their units. */
function hashWords(text: string, start: number): number {
  let high = lanes[0] ?? 0;
  let low = lanes[1] ?? 0;
  let escapes = 0;
  const { length } = text;
  for (let index = start; index + 1 < length; index += 2) {
    const first = text.charCodeAt(index);
    const second = text.charCodeAt(index + 1);
    const word = first | (second << 16);
    escapes |= (ESCAPED[first] ?? 0) | (ESCAPED[second] ?? 0);
    high = Math.imul(high ^ word, 0x85ebca6b);
    high = (high << 13) | (high >>> 19);
    low = Math.imul(low ^ word, 0xc2b2ae35);
    low = (low << 17) | (low >>> 15);
  }
  setLanes(high, low);
  return escapes;
}

function hashText(text: string): void {
  const { length } = text;
  hashWords(text, 0);
  if (length % 2 === 1) hashWord(text.charCodeAt(length - 1));
  hashWord(length);
}

function hashEnd(): number {
  const high = lanes[0] ?? 0;
  const low = lanes[1] ?? 0;
  const first = avalanche(high ^ (low >>> 7));
  const second = avalanche(low ^ Math.imul(first, 0x27d4eb2d));
  return (first & HIGH_MASK) * 2 ** 32 + (second >>> 0);
}

function avalanche(lane: number): number {
  let mixed = Math.imul(lane ^ (lane >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
