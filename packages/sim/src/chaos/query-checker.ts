/**
 * Checks that a partition never has two queries at a time, whichever servers ask. A server that is held up, or whose lease
 * ends because clocks jump, does not know that another one queries as well; so it is told when to look.
 */
export class QueryChecker {
  readonly problems: string[] = [];
  /** How many queries arrived. */
  count = 0;
  #isWatching = false;
  #open = new Map<string, number>();

  /** Looks from now on, only at queries that begin from now on. */
  watch(): void {
    this.#isWatching = true;
    this.#open = new Map();
  }

  pause(): void {
    this.#isWatching = false;
  }

  /** Records that a query arrived. Returns the function that records that it is over. */
  begin(partition: string): () => void {
    const open = this.#open;
    const before = open.get(partition) ?? 0;
    this.count++;
    open.set(partition, before + 1);
    if (this.#isWatching && before > 0) this.problems.push(`${before + 1} queries of ${partition} at once`);
    return () => {
      open.set(partition, (open.get(partition) ?? 1) - 1);
    };
  }
}
