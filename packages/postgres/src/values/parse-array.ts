import type { JsonValue } from '@tidemark/protocol';

/** Parses an array as Postgres writes it: `{1,NULL,{2,"a \"b\""}}`, with the bounds before it when they do not begin at 1. */
export function parseArray(text: string, delimiter: string, convert: (text: string) => JsonValue): JsonValue[] {
  return new ArrayParser(text, delimiter, convert).parse();
}

class ArrayParser {
  readonly #text: string;
  readonly #delimiter: string;
  readonly #convert: (text: string) => JsonValue;
  #at: number;

  constructor(text: string, delimiter: string, convert: (text: string) => JsonValue) {
    this.#text = text;
    this.#delimiter = delimiter;
    this.#convert = convert;
    // `[0:2]={1,2,3}`
    this.#at = text.startsWith('[') ? text.indexOf('=') + 1 : 0;
  }

  parse(): JsonValue[] {
    const items = this.#list();
    if (this.#at !== this.#text.length) throw this.#problem();
    return items;
  }

  #list(): JsonValue[] {
    const items: JsonValue[] = [];
    this.#expect('{');
    if (this.#peek() === '}') {
      this.#at += 1;
      return items;
    }
    for (;;) {
      items.push(this.#item());
      if (this.#peek() === '}') break;
      this.#expect(this.#delimiter);
    }
    this.#at += 1;
    return items;
  }

  #item(): JsonValue {
    const first = this.#peek();
    if (first === '{') return this.#list();
    if (first === '"') return this.#convert(this.#quoted());
    const start = this.#at;
    while (this.#at < this.#text.length && this.#peek() !== this.#delimiter && this.#peek() !== '}') this.#at += 1;
    const word = this.#text.slice(start, this.#at);
    return word === 'NULL' ? null : this.#convert(word);
  }

  #quoted(): string {
    let value = '';
    for (this.#at += 1; this.#peek() !== '"'; this.#at += 1) {
      if (this.#peek() === '\\') this.#at += 1;
      if (this.#at >= this.#text.length) throw this.#problem();
      value += this.#peek();
    }
    this.#at += 1;
    return value;
  }

  #peek(): string {
    return this.#text.charAt(this.#at);
  }

  #expect(character: string): void {
    if (this.#peek() !== character) throw this.#problem();
    this.#at += 1;
  }

  #problem(): Error {
    return new Error(`an array of Postgres has a mistake at character ${this.#at + 1}`);
  }
}
