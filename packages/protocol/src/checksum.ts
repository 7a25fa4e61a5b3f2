/**
 * The checksum of a document: the sum, modulo 2^52, of a hash of every (object id, attribute, canonical JSON value).
 * A sum does not care for order and can be kept up to date by adding what came and subtracting what went. 52 bits fit
 * a JavaScript number, so a checksum is a plain number everywhere: in memory, in JSON, on a device.
 *
 * The hash runs over UTF-16 code units, which is what strings are made of where devices live (JavaScript, Kotlin,
 * Dart, C#, and Swift's utf16 view), two at a time, the first in the lower half; an odd last one stands alone. Behind
 * each text comes its length, so that ("ab", "c") and ("a", "bc") never look alike. It detects accidents; it is not
 * meant to resist an attacker.
 */
const MODULUS = 2 ** 52;
const HIGH_MASK = 0xfffff;

export function addChecksums(left: number, right: number): number {
  return (left + right) % MODULUS;
}

export function subtractChecksums(left: number, right: number): number {
  return (left - right + MODULUS) % MODULUS;
}

/** The checksum of one object; `attributes` maps each attribute to the canonical JSON text of its value. */
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

/**
 * The checksum of an object given as canonical JSON text, or null when that text is not plain: ASCII, without escapes,
 * of ordinary length. Bytes in a row are looked at several times as fast as the texts of attributes, and most objects
 * are plain.
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
/** The text that is being looked at. A character takes at most three bytes, so whatever is not plain fits as well. */
const plain = new Uint8Array(3 * PLAIN_UNITS_MAX);

/** The index of the quote that ends the text which starts here. */
function endOfPlainText(start: number): number {
  let at = start;
  for (;;) {
    const unit = plain[at];
    if (unit === QUOTE) return at;
    if (unit === BACKSLASH || at >= PLAIN_UNITS_MAX) return NOT_PLAIN;
    at++;
  }
}

/** The index just behind the value that starts here: that of a comma or brace. */
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

/** A short hash of any text, for spotting damage in transit. */
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
