/**
 * Lets those who collided take turns. While nobody waits for a key, everybody passes at once; as soon as somebody
 * does, all who come later queue up behind, so that nobody is overtaken for ever.
 */
export class KeyedMutex {
  readonly #lastInLine = new Map<string, Promise<void>>();

  /** True: nobody has taken any key. */
  get isFree(): boolean {
    return this.#lastInLine.size === 0;
  }

  isTaken(key: string): boolean {
    return this.#lastInLine.has(key);
  }

  /** Runs `work` when everybody before has finished. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#lastInLine.get(key) ?? Promise.resolve();
    let finish: () => void = () => {};
    const mine = new Promise<void>((resolve) => {
      finish = resolve;
    });
    this.#lastInLine.set(key, mine);
    await before;
    try {
      return await work();
    } finally {
      finish();
      if (this.#lastInLine.get(key) === mine) this.#lastInLine.delete(key);
    }
  }
}
