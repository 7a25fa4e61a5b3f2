/** Done together at most. */
const TOGETHER_MAX = 100;

interface Waiting<Item, Outcome> {
  readonly item: Item;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Does what comes for one key one after the other, so that it does not collide with itself: what arrives while
 * something is under way waits, and is then done together.
 */
export class KeyedBatcher<Item, Outcome> {
  readonly #work: (key: string, items: readonly Item[]) => Promise<readonly Outcome[]>;
  /** Keys that are being worked on, with those who came meanwhile. */
  readonly #lines = new Map<string, Waiting<Item, Outcome>[]>();

  /** `work` answers one outcome for each item, in their order. */
  constructor(work: (key: string, items: readonly Item[]) => Promise<readonly Outcome[]>) {
    this.#work = work;
  }

  do(key: string, item: Item): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const waiting = { item, resolve, reject };
      const line = this.#lines.get(key);
      if (line === undefined) void this.#serve(key, [waiting]);
      else line.push(waiting);
    });
  }

  async #serve(key: string, line: Waiting<Item, Outcome>[]): Promise<void> {
    this.#lines.set(key, line);
    while (line.length > 0) await this.#finish(key, line.splice(0, TOGETHER_MAX));
    this.#lines.delete(key);
  }

  async #finish(key: string, batch: readonly Waiting<Item, Outcome>[]): Promise<void> {
    try {
      const outcomes = await this.#work(
        key,
        batch.map(({ item }) => item),
      );
      for (const [index, outcome] of outcomes.entries()) batch[index]?.resolve(outcome);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
