/** Gives names to types: legal ones, each of them once. The same calls in the same order give the same names. */
export class TypeNames {
  readonly #taken: Set<string>;

  constructor(reserved: readonly string[]) {
    this.#taken = new Set(reserved);
  }

  /** Returns a name for a type that is called so elsewhere, by a name that may have any characters: `work order` → `WorkOrder`. */
  add(...parts: readonly string[]): string {
    const wanted = legalName(parts);
    let name = wanted;
    for (let count = 2; this.#taken.has(name); count++) name = `${wanted}${count}`;
    this.#taken.add(name);
    return name;
  }
}

function legalName(parts: readonly string[]): string {
  const words = parts.flatMap((part) => part.split(/[^\p{ID_Continue}]+|_+/u)).filter((word) => word !== '');
  const name = words.map(([first = '', ...rest]) => `${first.toUpperCase()}${rest.join('')}`).join('');
  return /^\p{ID_Start}/u.test(name) ? name : `Source${name}`;
}
