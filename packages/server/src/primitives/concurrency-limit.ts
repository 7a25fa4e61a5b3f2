import type { Refusal } from '@tidemark/protocol';
import type { Timers } from '../jobs/timers.ts';

export interface ConcurrencyLimitParts {
  readonly atOnceMax: number;
  readonly waitingMax: number;
  /** What a caller is told who finds too many others waiting, or has waited for too long. */
  readonly refusal: () => Refusal;
  /** How long a caller waits at most. Left out: for as long as it takes. */
  readonly wait?: { readonly msMax: number; readonly timers: Timers };
}

/** Lets a bounded number of callers work at once and a bounded number wait, first come, first served. */
export class ConcurrencyLimit {
  readonly #parts: ConcurrencyLimitParts;
  readonly #waiting = new Set<() => void>();
  #working = 0;

  constructor(parts: ConcurrencyLimitParts) {
    this.#parts = parts;
  }

  /** Resolves when it is the caller's turn. The caller must call the answer when it is done; calling it again does nothing. */
  async acquire(): Promise<() => void> {
    if (this.#working < this.#parts.atOnceMax) this.#working++;
    else await this.#turn();
    let isHeld = true;
    return () => {
      if (isHeld) this.#release();
      isHeld = false;
    };
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.acquire();
    try {
      return await work();
    } finally {
      release();
    }
  }

  #turn(): Promise<void> {
    const { waitingMax, refusal, wait } = this.#parts;
    if (this.#waiting.size >= waitingMax) throw refusal();
    return new Promise((resolve, reject) => {
      let cancel = () => {};
      const begin = () => {
        cancel();
        resolve();
      };
      this.#waiting.add(begin);
      if (wait === undefined) return;
      cancel = wait.timers.after(wait.msMax, () => {
        if (this.#waiting.delete(begin)) reject(refusal());
      });
    });
  }

  /** The permit goes straight to the caller who has waited longest, so that no newcomer slips in between. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#working--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
