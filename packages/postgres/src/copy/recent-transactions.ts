import type { Snapshot } from './snapshot.ts';

/** More than any database has connections, each of which can have one transaction between its commit and its visibility. */
const KEPT_MAX = 10_000;
/** How many are stored with the position. */
const STORED_MAX = 1_000;

/**
 * The transactions that the stream has brought and that a snapshot may not see yet: a commit is written into the log, and so
 * decoded, before others see it; with synchronous replication it may be long before.
 */
export class RecentTransactions {
  #xids: number[];

  constructor(stored: readonly number[] = []) {
    this.#xids = [...stored];
  }

  add(xid: number): void {
    this.#xids.push(xid);
    if (this.#xids.length > 2 * KEPT_MAX) this.#xids = this.#xids.slice(-KEPT_MAX);
  }

  /** Forgets those that every later snapshot sees. */
  forget(snapshot: Snapshot): void {
    this.#xids = this.#xids.filter((xid) => !snapshot.isPast(xid));
  }

  list(): readonly number[] {
    return this.#xids.slice(-KEPT_MAX);
  }

  stored(): readonly number[] {
    return this.#xids.slice(-STORED_MAX);
  }
}
