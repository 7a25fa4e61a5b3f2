const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** What a body looks like from outside, before it is parsed. */
export interface Envelope {
  /** A name that stands twice at the top level, or null. */
  readonly doubled: string | null;
  readonly isTooDeep: boolean;
}

/**
 * Looks over a text that should be a JSON object or list. `JSON.parse` would quietly take the last of two members with
 * the same name, and whoever looked at the first one, a proxy or a log, would have seen another request. And it would
 * make every one of millions of nested lists before anybody could say that they are too many. What is not JSON at all
 * is left to the parser to refuse.
 */
export function readEnvelope(text: string, depthMax: number): Envelope {
  const names = new Set<string>();
  let doubled: string | null = null;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === 0x7b || unit === 0x5b) {
      if (++depth > depthMax) return { doubled, isTooDeep: true };
    } else if (unit === 0x7d || unit === 0x5d) depth--;
    else if (unit === QUOTE) {
      const end = endOfString(text, index);
      if (end === 0) break;
      if (depth === 1 && isName(text, end)) doubled ??= seenBefore(names, text.slice(index, end));
      index = end - 1;
    }
  }
  return { doubled, isTooDeep: false };
}

/** The name itself when it is in the set already; puts it there otherwise. */
function seenBefore(names: Set<string>, quoted: string): string | null {
  const name = nameOf(quoted);
  if (names.has(name)) return name;
  names.add(name);
  return null;
}

/** The same name can be spelt with escapes and without. */
function nameOf(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted;
  }
}

/** The place behind the closing quote, or 0 when there is none. */
function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote + 1;
}

function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

/** A string at the top level is a name when a colon follows it. */
function isName(text: string, end: number): boolean {
  let index = end;
  while (isSpace(text.charCodeAt(index))) index++;
  return text.charCodeAt(index) === COLON;
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
}
