import type { Refusal } from '@tidemark/protocol';
import type { Timers } from '../jobs/timers.ts';

export interface ConcurrencyLimitParts {
  readonly atOnceMax: number;
  readonly waitingMax: number;
  /** The refusal for a caller if too many others wait, or if it has waited too long. */
  readonly refusal: () => Refusal;
  /** The longest wait of a caller. Absent: no limit. */
  readonly wait?: { readonly msMax: number; readonly timers: Timers };
}

/** Lets a bounded number of callers work at once and a bounded number wait, in order of arrival. */
export class ConcurrencyLimit {
  readonly #parts: ConcurrencyLimitParts;
  readonly #waiting = new Set<() => void>();
  #working = 0;

  constructor(parts: ConcurrencyLimitParts) {
    this.#parts = parts;
  }

  /**
   * Resolves when the caller may work. The caller must call the returned function when it is done; further calls do
   * nothing.
   */
  async acquire(): Promise<() => void> {
    if (this.#working < this.#parts.atOnceMax) this.#working++;
    else await this.#wait();
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

  #wait(): Promise<void> {
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

  /** Passes the permit directly to the caller that has waited longest. */
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
