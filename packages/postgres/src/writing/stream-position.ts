import type { Clock } from '../clock.ts';

/** How long an answer to a device waits for its row to come back. */
const WAIT_MS = 5_000;
/** How often the position is looked up meanwhile. */
const LOOK_MS = 50;

interface Waiter {
  readonly lsn: bigint;
  readonly resolve: () => void;
  readonly cancel: () => void;
}

/**
 * How far the stream is durable in Tidemark. An answer waits for that, so that the device keeps showing its own change until the row
 * has come back, and never falls back to the value before.
 */
export class StreamPosition {
  readonly #clock: Clock;
  readonly #read: (() => Promise<bigint | null>) | null;
  readonly #waiters = new Set<Waiter>();
  #stored = 0n;
  /** A position that was not reached in time: as long as the stream is behind it, nobody waits. */
  #missed = 0n;
  #endLooking: (() => void) | null = null;

  /** `read` looks up a position that another server has stored; null: `note` tells all of them. */
  constructor(clock: Clock, read: (() => Promise<bigint | null>) | null) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Everything up to the position is durable in Tidemark. */
  note(stored: bigint): void {
    if (stored > this.#stored) this.#stored = stored;
    for (const waiter of this.#waiters) if (stored >= waiter.lsn) this.#end(waiter);
  }

  /** Resolves when the stream has passed the position, and soon in any case. */
  passed(lsn: bigint): Promise<void> {
    if (this.#stored >= lsn || this.#stored < this.#missed) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#clock.after(WAIT_MS, () => {
        this.#missed = lsn;
        this.#end(waiter);
      });
      const waiter: Waiter = { lsn, resolve, cancel };
      this.#waiters.add(waiter);
      if (this.#read !== null) this.#endLooking ??= this.#clock.every(LOOK_MS, () => void this.#look());
    });
  }

  async #look(): Promise<void> {
    const stored = await this.#read?.().catch(() => null);
    if (stored !== undefined && stored !== null) this.note(stored);
  }

  #end(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    waiter.cancel();
    waiter.resolve();
    if (this.#waiters.size > 0) return;
    this.#endLooking?.();
    this.#endLooking = null;
  }
}
