interface Waiting<Name> {
  readonly settle: (name: Name | null) => void;
  readonly fail: (error: unknown) => void;
}

/** Reads the names of many ids by few calls: what is asked for in one turn is read together. */
export class NameBatcher<Name> {
  readonly #read: (ids: readonly string[]) => Promise<ReadonlyMap<string, Name>>;
  readonly #idsMax: number;
  #waiting = new Map<string, readonly Waiting<Name>[]>();

  constructor(read: (ids: readonly string[]) => Promise<ReadonlyMap<string, Name>>, idsMax: number) {
    this.#read = read;
    this.#idsMax = idsMax;
  }

  /** Returns null if nothing has this id. */
  find(id: string): Promise<Name | null> {
    if (this.#waiting.size === 0) setTimeout(() => this.#readAll());
    return new Promise((settle, fail) => {
      this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), { settle, fail }]);
    });
  }

  #readAll(): void {
    const waiting = [...this.#waiting];
    this.#waiting = new Map();
    for (let from = 0; from < waiting.length; from += this.#idsMax) {
      void this.#readSome(waiting.slice(from, from + this.#idsMax));
    }
  }

  async #readSome(waiting: readonly (readonly [id: string, readonly Waiting<Name>[]])[]): Promise<void> {
    try {
      const names = await this.#read(waiting.map(([id]) => id));
      for (const [id, all] of waiting) for (const { settle } of all) settle(names.get(id) ?? null);
    } catch (error) {
      for (const [, all] of waiting) for (const { fail } of all) fail(error);
    }
  }
}
