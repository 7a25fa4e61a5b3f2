import { type LocalRow, type LocalStore, memoryStore } from '@tidemark/client';

export interface CrashPlan {
  /** The commit at which the process dies, counted from 1. */
  readonly atCommit: number;
  /** True: that commit is still stored. */
  readonly isKept: boolean;
}

/** A local store whose process dies at a given commit: later calls have no effect and never return. */
export class CrashingStore implements LocalStore {
  readonly #kept: LocalStore;
  readonly #plan: CrashPlan | null;
  #commits = 0;
  #isDead = false;

  constructor(rows: readonly LocalRow[], plan: CrashPlan | null) {
    this.#kept = memoryStore(rows);
    this.#plan = plan;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get commits(): number {
    return this.#commits;
  }

  /** Kills the process now. */
  die(): void {
    this.#isDead = true;
  }

  /** Returns the rows that the next process finds. */
  survivors(): Promise<readonly LocalRow[]> {
    return this.#kept.load();
  }

  load(): Promise<readonly LocalRow[]> {
    return this.#kept.load();
  }

  async commit(writes: Parameters<LocalStore['commit']>[0]): Promise<void> {
    if (this.#isDead) return never();
    this.#commits++;
    const { atCommit, isKept } = this.#plan ?? { atCommit: Number.POSITIVE_INFINITY, isKept: true };
    if (this.#commits < atCommit || isKept) await this.#kept.commit(writes);
    if (this.#commits < atCommit) return;
    this.#isDead = true;
    return never();
  }

  async close(): Promise<void> {}
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
