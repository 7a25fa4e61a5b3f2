import { stringOf } from './parse-json.ts';
import { endOfBlanks, endOfFlatObject, endOfString, endOfValue, TOO_DEEP } from './scan.ts';

const CLOSING = { '{': '}', '[': ']' } as const;

/** Why a text cannot be split: `begin`: it does not begin with the bracket; `trailing`: something follows its end. */
export type SplitProblem = 'begin' | 'syntax' | 'key' | 'incomplete' | 'trailing' | 'too_deep' | 'too_large';

export class SplitError extends Error {
  override readonly name = 'SplitError';
  readonly problem: SplitProblem;

  constructor(problem: SplitProblem) {
    super(`the JSON text cannot be split: ${problem}`);
    this.problem = problem;
  }
}

export interface SplitterOptions {
  /** `{`: the text is an object and each element a member. `[`: it is a list. */
  readonly opening: '{' | '[';
  /** The longest element, with its key. */
  readonly elementUnitsMax: number;
  /** The deepest nesting of a value. */
  readonly depthMax?: number;
  /** Is called with the text of each value, and with its key; the key of a list's element is empty. */
  readonly onElement: (key: string, value: string) => void;
}

/**
 * Splits the JSON text of an object or a list into its elements while it arrives in chunks. Values are not parsed: the
 * receiver of a text that is not JSON finds that out.
 */
export class JsonSplitter {
  readonly #options: SplitterOptions;
  readonly #depthMax: number;
  #expects: 'opening' | 'first' | 'element' | 'nothing' = 'opening';
  /** The text from the first element that is not complete yet. */
  #text = '';
  /** The text is not read again before it is this long. */
  #readAtUnits = 0;

  constructor(options: SplitterOptions) {
    this.#options = options;
    this.#depthMax = options.depthMax ?? Number.POSITIVE_INFINITY;
  }

  push(chunk: string): void {
    this.#text += chunk;
    if (this.#text.length < this.#readAtUnits) return;
    this.#read();
    const { elementUnitsMax } = this.#options;
    if (this.#text.length > elementUnitsMax) throw new SplitError('too_large');
    // An incomplete element is read again when it has doubled, so that reading a large one takes linear time.
    this.#readAtUnits = Math.min(2 * this.#text.length, elementUnitsMax + 1);
  }

  /** Must be called after the last chunk. */
  finish(): void {
    this.#read();
    if (this.#expects !== 'nothing') throw new SplitError('incomplete');
  }

  #read(): void {
    const text = this.#text;
    let at = 0;
    for (let next = this.#step(text, 0); next !== -1; next = this.#step(text, next)) at = next;
    this.#text = text.slice(at);
  }

  /** Reads one bracket or element. Returns the index behind it, or -1 when the text ends before. */
  #step(text: string, from: number): number {
    const at = endOfBlanks(text, from);
    if (at === text.length) return -1;
    const { opening } = this.#options;
    if (this.#expects === 'nothing') throw new SplitError('trailing');
    if (this.#expects === 'opening') {
      if (text[at] !== opening) throw new SplitError('begin');
      this.#expects = 'first';
      return at + 1;
    }
    if (this.#expects === 'first' && text[at] === CLOSING[opening]) {
      this.#expects = 'nothing';
      return at + 1;
    }
    return opening === '{' ? this.#member(text, at) : this.#value(text, at, null);
  }

  #member(text: string, at: number): number {
    if (text[at] !== '"') throw new SplitError('syntax');
    const keyEnd = endOfString(text, at);
    if (keyEnd === -1) return -1;
    const colon = endOfBlanks(text, keyEnd);
    if (colon === text.length) return -1;
    if (text[colon] !== ':') throw new SplitError('syntax');
    return this.#value(text, endOfBlanks(text, colon + 1), { start: at, end: keyEnd });
  }

  /** Reads a value and the comma or bracket behind it. */
  #value(text: string, start: number, key: { readonly start: number; readonly end: number } | null): number {
    const end = endOfFlatObject(text, start) ?? endOfValue(text, start, this.#depthMax);
    if (end === TOO_DEEP) throw new SplitError('too_deep');
    const behind = end === -1 ? text.length : endOfBlanks(text, end);
    if (behind === text.length) return -1;
    const isLast = text[behind] === CLOSING[this.#options.opening];
    if (!isLast && text[behind] !== ',') throw new SplitError('syntax');
    if (end - (key?.start ?? start) > this.#options.elementUnitsMax) throw new SplitError('too_large');
    this.#options.onElement(key === null ? '' : keyOf(text, key.start, key.end), text.slice(start, end));
    this.#expects = isLast ? 'nothing' : 'element';
    return behind + 1;
  }
}

function keyOf(text: string, start: number, end: number): string {
  try {
    return stringOf(text, start, end);
  } catch {
    throw new SplitError('key');
  }
}
