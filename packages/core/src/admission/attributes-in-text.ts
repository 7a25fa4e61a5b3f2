import { eachMember } from '../journal/json-text.ts';
import type { AttributeTexts } from './admitted.ts';

/**
 * The attributes of an object, as the text of the whole object. Of an object that is new, or is what is kept already,
 * nobody asks for a single attribute; only when somebody does is the text taken apart. The caller's object is not kept:
 * it may change after admission, and then record and checksum would disagree.
 */
export class AttributesInText implements AttributeTexts {
  /** The JSON text of the object, its attributes in the order in which they were given. */
  readonly text: string;
  readonly size: number;
  #texts: Map<string, string> | null = null;

  /** `text` was made by `wholeText` and holds `size` attributes. */
  constructor(text: string, size: number) {
    this.size = size;
    this.text = text;
  }

  get(name: string): string | undefined {
    return this.#apart().get(name);
  }

  has(name: string): boolean {
    return this.#apart().has(name);
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
    if (this.#texts !== null) return this.#texts;
    const texts = new Map<string, string>();
    eachMember(this.text, 0, (name, text) => texts.set(name, text));
    this.#texts = texts;
    return texts;
  }
}
