import { endOfBlanks, endOfString } from './scan.ts';

/**
 * `JSON.parse` without a bug of V8. The versions in Node 24 and 26 mix up names with escapes: once `{"a":1,"\\":2}` was
 * parsed anywhere in the process, they parse `{"a":1,"\n":2}` as if it were the same (nodejs/node issue 63785), so one
 * user's data could change another's. All text from outside is parsed with this function.
 */
export const parseJson: (text: string) => unknown = misreadsNames() ? parseCarefully : (text) => JSON.parse(text);

/** Returns the members of a JSON object or list; text that is something else, or no JSON, has none. */
export function parseMembers(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Uses names that occur nowhere else, so that the check itself does not cause the bug. */
function misreadsNames(): boolean {
  JSON.parse('{"is it read":0,"\\\\":0}');
  return !Object.hasOwn(JSON.parse('{"is it read":0,"\\n":0}') as object, '\n');
}

/** Two high surrogates in a row. No text that was decoded from UTF-8 contains them. */
const STAND_IN = '\ud800\ud800';

/**
 * Parses without giving the parser a name that has escapes: a name that needs none is rewritten without them, every
 * other name is replaced by a stand-in while the text is parsed.
 */
export function parseCarefully(text: string): unknown {
  let nextEscape = text.indexOf('\\');
  if (nextEscape === -1) return JSON.parse(text);
  const standIns = new StandIns(text);
  let safe = '';
  let copied = 0;
  for (let start = text.indexOf('"'); start !== -1 && nextEscape !== -1; ) {
    const end = endOfString(text, start);
    if (end === -1) break;
    if (nextEscape < end) {
      if (text[endOfBlanks(text, end)] === ':') {
        safe += text.slice(copied, start) + standIns.quoted(text.slice(start, end));
        copied = end;
      }
      nextEscape = text.indexOf('\\', end);
    }
    start = text.indexOf('"', end);
  }
  const value: unknown = JSON.parse(copied === 0 ? text : safe + text.slice(copied));
  if (standIns.areUsed) standIns.replaceIn(value);
  return value;
}

/** Returns the value of the JSON string between the two indices. */
export function stringOf(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1);
  return inner.includes('\\') ? (parseJson(text.slice(start, end)) as string) : inner;
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

  /** Returns the text that replaces a name. The name itself can be parsed: V8 misreads only names of objects. */
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

  /** Does not recurse, because `JSON.parse` accepts values nested deeper than the stack allows. */
  replaceIn(root: unknown): void {
    const waiting: unknown[] = [root];
    while (waiting.length > 0) {
      const value = waiting.pop();
      if (typeof value !== 'object' || value === null) continue;
      const members = Array.isArray(value) ? value : this.#rename(value as Record<string, unknown>);
      for (const member of members) waiting.push(member);
    }
  }

  /** Keeps the order of the members. Returns their values. */
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
