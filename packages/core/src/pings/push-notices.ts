import type { Clock } from '../ports/clock.ts';
import type { PartitionKey } from '../ports/store.ts';

/** What is told together, and when. */
interface Notice {
  readonly partition: PartitionKey;
  readonly dueAtMs: number;
}

/** Partitions whose notice waits; beyond it the one that has waited longest is told at once. */
const WAITING_MAX = 10_000;

/**
 * Changes to sources with `push_notify` that somebody has yet to be told of. The first change starts the wait, those that
 * come during it change nothing: however fast a backend pushes, a user is pinged once in a while, and never later than
 * that after a change.
 */
export class PushNotices {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #waitingMax: number;
  /** The one due first comes first, since all wait equally long. */
  readonly #waiting = new Map<string, Notice>();

  constructor(clock: Clock, delayMs: number, waitingMax = WAITING_MAX) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#waitingMax = waitingMax;
  }

  note(partition: PartitionKey): void {
    const key = JSON.stringify([partition.source, partition.user]);
    if (this.#waiting.has(key)) return;
    this.#waiting.set(key, { partition, dueAtMs: this.#clock.nowMs() + this.#delayMs });
  }

  /** How long until something is due; null: nothing waits. */
  waitMs(): number | null {
    const [first] = this.#waiting.values();
    if (first === undefined) return null;
    return this.#waiting.size > this.#waitingMax ? 0 : Math.max(0, first.dueAtMs - this.#clock.nowMs());
  }

  /** Takes what is due now; with `all`, whatever waits. */
  take({ all = false }: { readonly all?: boolean } = {}): readonly PartitionKey[] {
    const nowMs = this.#clock.nowMs();
    const due = [...this.#waiting].filter(
      ([, { dueAtMs }], index) => all || dueAtMs <= nowMs || index < this.#waiting.size - this.#waitingMax,
    );
    for (const [key] of due) this.#waiting.delete(key);
    return due.map(([, { partition }]) => partition);
  }
}
