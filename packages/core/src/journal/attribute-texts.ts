import { type Members, splitMembers, stringOf } from '@tidemark/protocol';

/** Up to so many names are searched one by one; more are found by an index. */
const SEARCHED_NAMES_MAX = 16;

/**
 * The attributes of an object: each name with the canonical JSON text of its value. They are kept as the JSON text of the
 * whole object, which is split when a single attribute is first needed: new and unchanged objects do not need that.
 */
export class AttributeTexts implements Iterable<readonly [name: string, text: string]> {
  #text: string | null;
  #members: Members | null;
  #index: ReadonlyMap<string, number> | null = null;

  private constructor(text: string | null, members: Members | null) {
    this.#text = text;
    this.#members = members;
  }

  /** `text` is the canonical JSON text of an object, with its attributes in the order in which they were given. */
  static inText(text: string): AttributeTexts {
    return new AttributeTexts(text, null);
  }

  static of(attributes: Iterable<readonly [name: string, text: string]>): AttributeTexts {
    const names: string[] = [];
    const values: string[] = [];
    for (const [name, text] of attributes) {
      names.push(nameText(name));
      values.push(text);
    }
    return new AttributeTexts(null, { names, values });
  }

  /** The JSON text of the object. */
  get text(): string {
    this.#text ??= objectText(this.members);
    return this.#text;
  }

  get members(): Members {
    this.#members ??= membersIn(this.text);
    return this.#members;
  }

  get isEmpty(): boolean {
    return this.#members === null ? this.text === '{}' : this.#members.names.length === 0;
  }

  get(name: string): string | undefined {
    return this.members.values[this.find(nameText(name))];
  }

  has(name: string): boolean {
    return this.find(nameText(name)) !== -1;
  }

  keys(): readonly string[] {
    return this.members.names.map((name) => stringOf(name, 0, name.length));
  }

  *[Symbol.iterator](): Iterator<readonly [name: string, text: string]> {
    for (const [at, name] of this.keys().entries()) yield [name, this.members.values[at] ?? ''];
  }

  /** Returns the place of a name with quotes, or -1. `guess` is where it probably is: most objects of a source are alike. */
  find(name: string, guess = 0): number {
    const { names } = this.members;
    if (names[guess] === name) return guess;
    if (names.length <= SEARCHED_NAMES_MAX) return names.indexOf(name);
    this.#index ??= new Map(names.map((one, at) => [one, at]));
    return this.#index.get(name) ?? -1;
  }

  /** Whether both have the same attributes, in whatever order. */
  equals(other: AttributeTexts): boolean {
    return other.members.names.length === this.members.names.length && this.merge(other) === this;
  }

  /** Sets the given attributes and keeps the others. Returns itself when it has all of them already. */
  merge(given: AttributeTexts): AttributeTexts {
    // Most writes of what is stored already have the same text, which need not be split.
    if (given.text === this.text) return this;
    const names = [...this.members.names];
    const values = [...this.members.values];
    let isChanged = false;
    for (const [guess, name] of given.members.names.entries()) {
      const value = given.members.values[guess] ?? '';
      const known = this.find(name, guess);
      if (known !== -1 && values[known] === value) continue;
      const at = known === -1 ? names.length : known;
      names[at] = name;
      values[at] = value;
      isChanged = true;
    }
    return isChanged ? new AttributeTexts(null, { names, values }) : this;
  }

  /** Removes the attributes of which `isRemoved` says so. */
  without(isRemoved: (name: string, text: string) => boolean): AttributeTexts {
    return AttributeTexts.of([...this].filter(([name, text]) => !isRemoved(name, text)));
  }
}

function membersIn(text: string): Members {
  const { end, ...members } = splitMembers(text, 0);
  if (end !== text.length) throw new Error('something follows the object of a record that is not its marks');
  return members;
}

function objectText({ names, values }: Members): string {
  let text = '';
  for (const [at, name] of names.entries()) text += `${at === 0 ? '{' : ','}${name}:${values[at]}`;
  return text === '' ? '{}' : `${text}}`;
}

/** Objects share the names of their attributes, so the JSON texts of names are cached. */
const NAME_TEXTS_MAX = 10_000;
const nameTexts = new Map<string, string>();

/** Returns the name of an attribute as JSON text. */
export function nameText(name: string): string {
  const known = nameTexts.get(name);
  if (known !== undefined) return known;
  const text = JSON.stringify(name);
  // Clearing the cache is cheaper than tracking which names were used last, and rare.
  if (nameTexts.size >= NAME_TEXTS_MAX) nameTexts.clear();
  nameTexts.set(name, text);
  return text;
}
