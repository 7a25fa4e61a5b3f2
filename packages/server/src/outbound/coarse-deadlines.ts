import type { Timers } from '../jobs/timers.ts';

export interface CoarseDeadlinesParts<T> {
  readonly timers: Timers;
  readonly waitMs: number;
  readonly onLate: (item: T) => void;
}

/** A deadline is noticed late by at most this part of the wait. */
const TICKS_PER_WAIT = 10;

/**
 * Finds entries that wait too long, by one timer for all of them: never early, and a little late. It is cheap for ten
 * thousand waits per second of which hardly any expires.
 */
export class CoarseDeadlines<T> {
  readonly #parts: CoarseDeadlinesParts<T>;
  /** The entries in order of arrival, each with the tick after which it arrived. */
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

  /** Stops the timer. */
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
      // An entry may have arrived just before the tick after `since`, so one more tick must have passed.
      if (this.#ticks - since <= TICKS_PER_WAIT) break;
      this.#waiting.delete(item);
      this.#parts.onLate(item);
    }
    if (this.#waiting.size > 0 && this.#cancel === null) this.#tickLater();
  }
}
