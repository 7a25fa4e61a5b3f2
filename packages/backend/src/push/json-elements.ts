import { TidemarkError } from '../client/tidemark-error.ts';
import { type ByteSource, decodeText } from './decode-text.ts';

/** One element of the input, such as an object with its attributes; a call can hold no larger one anyway. */
export const ELEMENT_UNITS_MAX = 10_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

const BRACKETS = { '{': '}', '[': ']' } as const;
const OPENING = new Set(['{'.charCodeAt(0), '['.charCodeAt(0)]);
const CLOSING = new Set(['}'.charCodeAt(0), ']'.charCodeAt(0)]);

/**
 * The elements of one large JSON object or list, each as its text, while the input is still being read: no more than one
 * element is held at a time. Only strings and brackets are looked at; whoever parses the elements finds out whether they
 * are JSON.
 */
export async function* jsonElements(source: ByteSource, opening: '{' | '['): AsyncGenerator<string, void> {
  const scanner = new ElementScanner(opening);
  for await (const text of decodeText(source)) yield* scanner.feed(text);
  scanner.finish();
}

class ElementScanner {
  readonly #opening: '{' | '[';
  #state: 'before' | 'inside' | 'after' = 'before';
  /** Brackets open inside the current element. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** The beginning of the current element, from pieces of input that are used up. */
  #begun = '';
  #count = 0;

  constructor(opening: '{' | '[') {
    this.#opening = opening;
  }

  *feed(text: string): Generator<string, void> {
    let start = this.#state === 'before' ? this.#enter(text) : 0;
    for (let index = start; index < text.length && this.#state === 'inside'; index++) {
      if (!this.#endsElement(text.charCodeAt(index))) continue;
      yield* this.#element(text.slice(start, index), text[index] === ',');
      start = index + 1;
    }
    this.#keep(text.slice(start));
  }

  finish(): void {
    if (this.#state !== 'after') throw invalid('the input ends before the JSON does');
  }

  /** Finds the bracket that everything stands in. */
  #enter(text: string): number {
    const first = text.search(/\S/);
    if (first === -1) return text.length;
    if (text[first] !== this.#opening) throw invalid(`the input must begin with ${this.#opening}`);
    this.#state = 'inside';
    return first + 1;
  }

  /** Whether this character ends the current element; a comma or the last bracket does. */
  #endsElement(unit: number): boolean {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (unit === BACKSLASH) this.#isEscaped = true;
      else if (unit === QUOTE) this.#isInString = false;
      return false;
    }
    if (unit === QUOTE) this.#isInString = true;
    else if (OPENING.has(unit)) this.#depth++;
    else if (CLOSING.has(unit)) return --this.#depth < 0;
    return unit === COMMA && this.#depth === 0;
  }

  *#element(end: string, isFollowed: boolean): Generator<string, void> {
    const text = this.#begun + end;
    this.#begun = '';
    if (!isFollowed) this.#leave();
    const isEmpty = text.trim() === '';
    if (isEmpty && !isFollowed && this.#count === 0) return;
    if (isEmpty) throw invalid(`a comma stands where element ${this.#count + 1} should be`);
    this.#count++;
    yield text;
  }

  #leave(): void {
    this.#state = 'after';
  }

  #keep(rest: string): void {
    if (this.#state === 'after') {
      if (rest.trim() !== '') throw invalid(`something stands after the closing ${BRACKETS[this.#opening]}`);
      return;
    }
    if (this.#state === 'before') return;
    this.#begun += rest;
    if (this.#begun.length > ELEMENT_UNITS_MAX) throw invalid(`element ${this.#count + 1} is too large`);
  }
}

function invalid(detail: string): TidemarkError {
  return new TidemarkError('invalid_input', detail);
}
