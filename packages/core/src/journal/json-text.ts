import { endOfString, endOfValue } from '@tidemark/protocol';

// Functions for canonical JSON text, which Tidemark wrote itself and which has no white space.

const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Calls `visit` with every member of the JSON object that starts at `start`: the name with its quotes, and the value.
 * Returns the index behind the object.
 */
export function eachMember(text: string, start: number, visit: (name: string, value: string) => void): number {
  if (text.charCodeAt(start) !== OPEN_BRACE) throw new Error('the text is not a JSON object');
  let at = start + 1;
  while (text.charCodeAt(at) !== CLOSE_BRACE) {
    if (text.charCodeAt(at) === COMMA) at++;
    const nameEnd = endOfString(text, at);
    const valueEnd = nameEnd === -1 ? -1 : endOfValue(text, nameEnd + 1);
    if (valueEnd === -1) throw new Error('the JSON object is not complete');
    visit(text.slice(at, nameEnd), text.slice(nameEnd + 1, valueEnd));
    at = valueEnd;
  }
  return at + 1;
}

/** Objects share the names of their attributes, so the JSON texts of names are cached. */
const NAME_TEXTS_MAX = 10_000;
const nameTexts = new Map<string, string>();

/** Returns the name of an attribute as JSON text. */
export function nameText(name: string): string {
  const known = nameTexts.get(name);
  if (known !== undefined) return known;
  const text = JSON.stringify(name);
  // Clearing the cache is cheaper than tracking which names were used last, and rare.
  if (nameTexts.size >= NAME_TEXTS_MAX) nameTexts.clear();
  nameTexts.set(name, text);
  return text;
}
