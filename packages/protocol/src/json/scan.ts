/**
 * Functions that find the ends of strings and values in JSON text without parsing it. They read quotes and brackets only,
 * and do not detect invalid JSON. -1 means that the text ends too early.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Returns the index behind the string that starts at `start`. */
export function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (quote !== -1 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote === -1 ? -1 : quote + 1;
}

/** The opening quote of the string is no backslash, so the count ends there. */
function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

/** Stands for the end of a value that is nested deeper than allowed. */
export const TOO_DEEP = -2;

/** Returns the index behind the value that starts at `start`, or `TOO_DEEP`. */
export function endOfValue(text: string, start: number, depthMax = Number.POSITIVE_INFINITY): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  return isOpening(first) ? endOfContainer(text, start, depthMax) : endOfScalar(text, start);
}

/** In ASCII a bracket and the brace of the same direction differ in one bit, which makes one comparison of two. */
const BRACE_BIT = 0x20;

function isOpening(unit: number): boolean {
  return (unit | BRACE_BIT) === OPEN_BRACE;
}

function isClosing(unit: number): boolean {
  return (unit | BRACE_BIT) === CLOSE_BRACE;
}

function endOfContainer(text: string, start: number, depthMax: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      at = endOfString(text, at);
      if (at === -1) return -1;
      continue;
    }
    at++;
    if (isOpening(unit)) {
      if (++depth > depthMax) return TOO_DEEP;
    } else if (isClosing(unit) && --depth === 0) return at;
  }
  return -1;
}

function endOfScalar(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === COMMA || isClosing(unit) || isBlank(unit)) return at;
  }
  return -1;
}

/** The members of a JSON object as texts, in order: the names with their quotes, and the values. */
export interface Members {
  readonly names: readonly string[];
  readonly values: readonly string[];
}

/**
 * Splits the JSON object that starts at `start` and has no white space. `end` is the index behind it. Throws if the text
 * ends too early.
 */
export function splitMembers(text: string, start: number): Members & { readonly end: number } {
  if (text.charCodeAt(start) !== OPEN_BRACE) throw new Error('the text is not a JSON object');
  const names: string[] = [];
  const values: string[] = [];
  let at = start + 1;
  while (text.charCodeAt(at) !== CLOSE_BRACE) {
    if (text.charCodeAt(at) === COMMA) at++;
    const nameEnd = endOfString(text, at);
    const valueEnd = nameEnd === -1 ? -1 : endOfValue(text, nameEnd + 1);
    if (valueEnd === -1) throw new Error('the JSON object is not complete');
    names.push(text.slice(at, nameEnd));
    values.push(text.slice(nameEnd + 1, valueEnd));
    at = valueEnd;
  }
  return { names, values, end: at + 1 };
}

const STRING = String.raw`"[^"\\]*(?:\\[^][^"\\]*)*"`;
const SCALARS = String.raw`[^"{}[\]]*(?:${STRING}[^"{}[\]]*)*`;
const FLAT_OBJECT = new RegExp(String.raw`\{${SCALARS}(?:[[{]${SCALARS}[\]}]${SCALARS})*\}`, 'y');

/**
 * Returns the index behind an object whose lists and objects hold no others; undefined for any other text. A regular
 * expression reads such an object faster than `endOfValue`. Each of its parts matches in one way only, so it takes linear
 * time.
 */
export function endOfFlatObject(text: string, start: number): number | undefined {
  FLAT_OBJECT.lastIndex = start;
  return FLAT_OBJECT.test(text) ? FLAT_OBJECT.lastIndex : undefined;
}

/** Returns the index of the first character from `start` that is not white space, or the length of the text. */
export function endOfBlanks(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at++;
  return at;
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}
