import type { Timers } from '../jobs/timers.ts';

export interface CoarseDeadlinesParts<T> {
  readonly timers: Timers;
  readonly waitMs: number;
  readonly onLate: (item: T) => void;
}

/** Something is late by at most this part of the wait before it is noticed. */
const TICKS_PER_WAIT = 10;

/**
 * Notices what takes too long, by one timer for all instead of one for each: never early, and a little late. Where there
 * are ten thousand waits in a second and hardly any of them ends so, that is what they are worth.
 */
export class CoarseDeadlines<T> {
  readonly #parts: CoarseDeadlinesParts<T>;
  /** Each with the tick after which it came; the one that came first is first. */
  readonly #waiting = new Map<T, number>();
  #ticks = 0;
  #cancel: (() => void) | null = null;

  constructor(parts: CoarseDeadlinesParts<T>) {
    this.#parts = parts;
  }

  add(item: T): void {
    this.#waiting.set(item, this.#ticks);
    if (this.#cancel === null) this.#tickLater();
  }

  delete(item: T): void {
    this.#waiting.delete(item);
  }

  /** Nobody is noticed any more. */
  close(): void {
    this.#waiting.clear();
    this.#cancel?.();
    this.#cancel = null;
  }

  #tickLater(): void {
    const { timers, waitMs } = this.#parts;
    this.#cancel = timers.after(Math.ceil(waitMs / TICKS_PER_WAIT), () => this.#tick());
  }

  #tick(): void {
    this.#cancel = null;
    this.#ticks++;
    for (const [item, since] of this.#waiting) {
      // It may have come just before the tick after `since`, so one more than the wait has must have passed.
      if (this.#ticks - since <= TICKS_PER_WAIT) break;
      this.#waiting.delete(item);
      this.#parts.onLate(item);
    }
    if (this.#waiting.size > 0 && this.#cancel === null) this.#tickLater();
  }
}
