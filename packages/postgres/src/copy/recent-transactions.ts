import type { Snapshot } from './snapshot.ts';

/** After so many it is looked which of them everybody sees by now. */
const ADDED_MAX = 1_000;

/**
 * The transactions that the stream has brought and that a snapshot may not see yet: a commit is written into the log, and so
 * decoded, before others see it; with synchronous replication it may be long before. None is forgotten before a snapshot has seen
 * it, so there are at most as many as the database has connections, and those that were added since.
 */
export class RecentTransactions {
  #xids: number[];
  #added = 0;

  constructor(stored: readonly number[] = []) {
    this.#xids = [...stored];
  }

  /** Whether a snapshot is wanted, so that they do not become more and more. */
  get isLong(): boolean {
    return this.#added >= ADDED_MAX;
  }

  add(xid: number): void {
    this.#xids.push(xid);
    this.#added++;
  }

  /** Forgets those that the snapshot, and so every later one, sees. */
  forget(snapshot: Snapshot): void {
    this.#xids = this.#xids.filter((xid) => !snapshot.sees(xid));
    this.#added = 0;
  }

  list(): readonly number[] {
    return [...this.#xids];
  }
}
