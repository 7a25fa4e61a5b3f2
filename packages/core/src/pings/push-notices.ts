import type { Clock } from '../ports/clock.ts';
import { partitionName } from '../ports/owner.ts';
import type { PartitionKey } from '../ports/store.ts';

/** A pending notice. */
interface Notice {
  readonly partition: PartitionKey;
  readonly dueAtMs: number;
}

/** Pending notices; beyond it the oldest is sent at once. */
const WAITING_MAX = 10_000;

/**
 * Collects changes of sources with `push_notify`. The first change starts the delay, and further changes do not extend it:
 * a user is pinged at most once per delay, and at the latest one delay after a change.
 */
export class PushNotices {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #waitingMax: number;
  /** In the order in which they are due, because all have the same delay. */
  readonly #waiting = new Map<string, Notice>();

  constructor(clock: Clock, delayMs: number, waitingMax = WAITING_MAX) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#waitingMax = waitingMax;
  }

  note(partition: PartitionKey): void {
    const key = partitionName(partition);
    if (this.#waiting.has(key)) return;
    this.#waiting.set(key, { partition, dueAtMs: this.#clock.nowMs() + this.#delayMs });
  }

  /** Returns the time until the next notice is due; null when none is pending. */
  waitMs(): number | null {
    const [first] = this.#waiting.values();
    if (first === undefined) return null;
    return this.#waiting.size > this.#waitingMax ? 0 : Math.max(0, first.dueAtMs - this.#clock.nowMs());
  }

  /** Removes and returns the partitions whose notice is due; with `all`, those of all pending notices. */
  take({ all = false }: { readonly all?: boolean } = {}): readonly PartitionKey[] {
    const nowMs = this.#clock.nowMs();
    const due = [...this.#waiting].filter(
      ([, { dueAtMs }], index) => all || dueAtMs <= nowMs || index < this.#waiting.size - this.#waitingMax,
    );
    for (const [key] of due) this.#waiting.delete(key);
    return due.map(([, { partition }]) => partition);
  }
}
