import { eachMember } from '../journal/json-text.ts';
import type { AttributeTexts } from './admitted.ts';
import { isCanonical, isPlain } from './is-canonical.ts';

/**
 * The attributes of an object, stored as the JSON text of the whole object. The text is split only when a single attribute
 * is read, which new and unchanged objects do not need. The caller's object is not kept, because it may change after
 * admission, and then record and checksum would differ.
 */
export class AttributesInText implements AttributeTexts {
  /** The JSON text of the object, with its attributes in the given order. */
  readonly text: string;
  readonly size: number;
  #texts: Map<string, string> | null = null;

  /** `text` was made by `wholeText` and holds `size` attributes. */
  constructor(text: string, size: number) {
    this.size = size;
    this.text = text;
  }

  get(name: string): string | undefined {
    return this.#split().get(name);
  }

  has(name: string): boolean {
    return this.#split().has(name);
  }

  forEach(visit: (text: string, name: string, attributes: AttributeTexts) => void): void {
    for (const [name, text] of this) visit(text, name, this);
  }

  keys(): MapIterator<string> {
    return this.#split().keys();
  }

  values(): MapIterator<string> {
    return this.#split().values();
  }

  entries(): MapIterator<[string, string]> {
    return this.#split().entries();
  }

  [Symbol.iterator](): MapIterator<[string, string]> {
    return this.entries();
  }

  #split(): Map<string, string> {
    if (this.#texts !== null) return this.#texts;
    const texts = new Map<string, string>();
    eachMember(this.text, 0, (name, text) => texts.set(name, text));
    this.#texts = texts;
    return texts;
  }
}

/** The largest object that `wholeText` writes: attributes, items and members of values together. */
const WHOLE_TEXT_MEMBERS_MAX = 256;

/**
 * Returns the JSON text of an object whose names were all checked before and whose values are in canonical form. One call
 * of `JSON.stringify` is faster than `admitValue` for each attribute. Returns null for any other object: `admitValue`
 * then brings its values into canonical form, or refuses them.
 */
export function wholeText(
  object: Readonly<Record<string, unknown>>,
  names: readonly string[],
  rules: { readonly goodNames: ReadonlySet<string>; readonly depthMax: number },
): string | null {
  if (!isPlain(object)) return null;
  const budget = { members: WHOLE_TEXT_MEMBERS_MAX - names.length };
  if (budget.members < 0) return null;
  for (const name of names) {
    if (!rules.goodNames.has(name) || !isCanonical(object[name], rules.depthMax, budget)) return null;
  }
  return JSON.stringify(object);
}
