import type { AttributeTexts } from './admitted.ts';
import { canonicalText } from './canonical-text.ts';

/**
 * The attributes of an object, as the text of the whole object. Of an object that is new, or is what is kept already,
 * nobody asks for a single attribute; only when somebody does are they taken apart.
 */
export class AttributesInText implements AttributeTexts {
  /** The JSON text of the object, its attributes in the order in which they were given. */
  readonly text: string;
  readonly size: number;
  readonly #given: Readonly<Record<string, unknown>>;
  #texts: Map<string, string> | null = null;

  /** The object is one of which `wholeText` has made the text. */
  constructor(given: Readonly<Record<string, unknown>>, size: number, text: string) {
    this.#given = given;
    this.size = size;
    this.text = text;
  }

  get(name: string): string | undefined {
    return this.#apart().get(name);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#given, name);
  }

  forEach(visit: (text: string, name: string, attributes: AttributeTexts) => void): void {
    for (const [name, text] of this) visit(text, name, this);
  }

  keys(): MapIterator<string> {
    return this.#apart().keys();
  }

  values(): MapIterator<string> {
    return this.#apart().values();
  }

  entries(): MapIterator<[string, string]> {
    return this.#apart().entries();
  }

  [Symbol.iterator](): MapIterator<[string, string]> {
    return this.entries();
  }

  #apart(): Map<string, string> {
    this.#texts ??= new Map(Object.keys(this.#given).map((name) => [name, canonicalText(this.#given[name])]));
    return this.#texts;
  }
}
