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

/**
 * Most values are small and stand in the form in which they are kept: then JavaScript's own writer, asked once for a
 * whole object, does in one go what would otherwise be done name by name. Whatever is not certain here is left to
 * `admitValue`, which puts values in order, and finds the words for what is wrong with them.
 */

/** Attributes, and items and members of their values, of an object that is written in one go. */
const MEMBERS_IN_ONE_GO_MAX = 256;

/**
 * The JSON text of an object that may be admitted as it is, with attributes whose names are all known to be good; null
 * when that is not certain.
 */
export function wholeText(
  object: Readonly<Record<string, unknown>>,
  names: readonly string[],
  rules: { readonly goodNames: ReadonlySet<string>; readonly depthMax: number },
): string | null {
  if (!isPlain(object)) return null;
  const room = { members: MEMBERS_IN_ONE_GO_MAX - names.length };
  if (room.members < 0) return null;
  for (const name of names) {
    if (!rules.goodNames.has(name) || !isCanonical(object[name], rules.depthMax, room)) return null;
  }
  return JSON.stringify(object);
}

/** Whether a value may be kept, and JavaScript writes it as it is to be kept. */
function isCanonical(value: unknown, depth: number, room: { members: number }): boolean {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed();
    case 'number':
      return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
    case 'boolean':
      return true;
    case 'object':
      if (value === null) return true;
      return depth > 0 && (Array.isArray(value) ? isList(value, depth - 1, room) : isObject(value, depth - 1, room));
    default:
      return false;
  }
}

function isList(list: readonly unknown[], depth: number, room: { members: number }): boolean {
  room.members -= list.length;
  if (room.members < 0 || Object.getPrototypeOf(list) !== Array.prototype || 'toJSON' in list) return false;
  for (const item of list) {
    if (!isCanonical(item, depth, room)) return false;
  }
  return true;
}

function isObject(object: object, depth: number, room: { members: number }): boolean {
  if (!isPlain(object)) return false;
  const keys = Object.keys(object);
  room.members -= keys.length;
  if (room.members < 0) return false;
  let last = '';
  for (const key of keys) {
    // Members are kept in the order of their keys.
    if (key < last || key === '__proto__' || !key.isWellFormed()) return false;
    if (!isCanonical((object as Readonly<Record<string, unknown>>)[key], depth, room)) return false;
    last = key;
  }
  return true;
}

/** What has a `toJSON`, or is of a kind of its own, is written as it likes and not as it is. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === Object.prototype || prototype === null;
}
