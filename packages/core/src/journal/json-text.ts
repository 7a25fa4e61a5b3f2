import { parseJson } from '@tidemark/protocol';

/**
 * Walking over JSON text that Tidemark wrote itself (canonical, no white space), without parsing it: values stay the
 * texts they are, so nothing is ever formatted twice.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** The index just behind the JSON string that starts at `start`. */
export function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (quote !== -1 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  if (quote === -1) throw new Error('a JSON string does not end');
  return quote + 1;
}

function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

/** The index just behind the JSON value that starts at `start` inside an object. */
export function endOfValue(text: string, start: number): number {
  let depth = 0;
  let index = start;
  while (index < text.length) {
    const unit = text.charCodeAt(index);
    if (unit === QUOTE) {
      index = endOfString(text, index);
      continue;
    }
    if (depth === 0 && (unit === COMMA || unit === CLOSE_BRACE)) return index;
    if (unit === OPEN_BRACE || unit === OPEN_BRACKET) depth++;
    else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) depth--;
    index++;
  }
  throw new Error('a JSON value does not end');
}

/** Calls `visit` with every member of the JSON object that starts at `start`; answers the index just behind it. */
export function eachMember(text: string, start: number, visit: (name: string, value: string) => void): number {
  if (text.charCodeAt(start) !== OPEN_BRACE) throw new Error('a JSON object does not begin');
  let index = start + 1;
  while (text.charCodeAt(index) !== CLOSE_BRACE) {
    if (text.charCodeAt(index) === COMMA) index++;
    const nameEnd = endOfString(text, index);
    const valueEnd = endOfValue(text, nameEnd + 1);
    visit(nameOf(text, index, nameEnd), text.slice(nameEnd + 1, valueEnd));
    index = valueEnd;
  }
  return index + 1;
}

/** What the JSON string between the two indices says. */
export function nameOf(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1);
  return inner.includes('\\') ? (parseJson(text.slice(start, end)) as string) : inner;
}

/** Attributes recur with every object, so the texts of their names are kept. */
const NAME_TEXTS_MAX = 10_000;
const nameTexts = new Map<string, string>();

/** The name of an attribute as JSON text. */
export function nameText(name: string): string {
  const known = nameTexts.get(name);
  if (known !== undefined) return known;
  const text = JSON.stringify(name);
  // Starting over is crude, but it is rare, bounded, and cheaper than keeping book of what was used last.
  if (nameTexts.size >= NAME_TEXTS_MAX) nameTexts.clear();
  nameTexts.set(name, text);
  return text;
}

/** Attributes as the text of a JSON object. */
export function objectText(attributes: ReadonlyMap<string, string>): string {
  let text = '{';
  let separator = '';
  for (const [name, value] of attributes) {
    text += `${separator}${nameText(name)}:${value}`;
    separator = ',';
  }
  return `${text}}`;
}
