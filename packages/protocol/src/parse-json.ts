/**
 * `JSON.parse` with every name as it was written. Some versions of V8, those of Node 24 and 26 and of browsers of their
 * time, take a name with escapes for another one: once `{"a":1,"\\":2}` has been read anywhere in the process, they read
 * `{"a":1,"\n":2}` as if it were the same (nodejs/node issue 63785). So one user's data could change another's. Whatever
 * was written by somebody else is read with this.
 */
export const parseJson: (text: string) => unknown = misreadsNames() ? parseCarefully : (text) => JSON.parse(text);

/** Of objects that nobody else has, so that looking does not bring it about. */
function misreadsNames(): boolean {
  JSON.parse('{"is it read":0,"\\\\":0}');
  return !Object.hasOwn(JSON.parse('{"is it read":0,"\\n":0}') as object, '\n');
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Two halves of characters that are no halves of the same one: no text that came as UTF-8 contains them. */
const STAND_IN = '\ud800\ud800';

/**
 * The same without trusting the parser with names that have escapes: one that needs none is written without, every other
 * one has a stand-in while the text is parsed.
 */
export function parseCarefully(text: string): unknown {
  if (!text.includes('\\')) return JSON.parse(text);
  const standIns = new StandIns(text);
  let safe = '';
  let copied = 0;
  for (let start = text.indexOf('"'); start !== -1; ) {
    const { end, hasEscapes } = stringAt(text, start);
    if (hasEscapes && isName(text, end)) {
      safe += text.slice(copied, start) + standIns.quoted(text.slice(start, end));
      copied = end;
    }
    start = text.indexOf('"', end);
  }
  const value: unknown = JSON.parse(copied === 0 ? text : safe + text.slice(copied));
  if (standIns.areUsed) standIns.replaceIn(value);
  return value;
}

/** Where a string ends: behind its closing quote, or with the text when it has none. */
function stringAt(text: string, start: number): { readonly end: number; readonly hasEscapes: boolean } {
  let hasEscapes = false;
  for (let at = start + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return { end: at + 1, hasEscapes };
    if (unit !== BACKSLASH) continue;
    hasEscapes = true;
    at++;
  }
  return { end: text.length, hasEscapes };
}

/** Whether a string that ends here is a name. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (isBlank(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === COLON;
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}

class StandIns {
  readonly #prefix: string;
  readonly #standIns = new Map<string, string>();
  readonly #names = new Map<string, string>();

  constructor(text: string) {
    let prefix = STAND_IN;
    while (text.includes(prefix)) prefix += STAND_IN;
    this.#prefix = prefix;
  }

  get areUsed(): boolean {
    return this.#names.size > 0;
  }

  /** What is written instead of a name. Nothing but the names of objects is ever misread, so the name itself is not. */
  quoted(written: string): string {
    const name = JSON.parse(written) as string;
    const plain = JSON.stringify(name);
    return plain.includes('\\') ? `"${this.#standInFor(name)}"` : plain;
  }

  #standInFor(name: string): string {
    const known = this.#standIns.get(name);
    if (known !== undefined) return known;
    const standIn = this.#prefix + this.#names.size;
    this.#standIns.set(name, standIn);
    this.#names.set(standIn, name);
    return standIn;
  }

  /** However deep it is, without recursion: what JSON.parse can read must not end with a full stack here. */
  replaceIn(root: unknown): void {
    const waiting: unknown[] = [root];
    while (waiting.length > 0) {
      const value = waiting.pop();
      if (typeof value !== 'object' || value === null) continue;
      const members = Array.isArray(value) ? value : this.#rename(value as Record<string, unknown>);
      for (const member of members) waiting.push(member);
    }
  }

  /** In the same order as before. Answers the values. */
  #rename(object: Record<string, unknown>): readonly unknown[] {
    const members = Object.entries(object);
    if (!members.some(([name]) => this.#names.has(name))) return Object.values(object);
    for (const [name] of members) delete object[name];
    for (const [name, value] of members) {
      const options = { value, writable: true, enumerable: true, configurable: true };
      Object.defineProperty(object, this.#names.get(name) ?? name, options);
    }
    return Object.values(object);
  }
}
