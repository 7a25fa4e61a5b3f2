import type { Clock } from '../clock.ts';

/** How long an answer to a device waits for its row to come back. */
const WAIT_MS = 5_000;

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
  readonly #waiters = new Set<Waiter>();
  #stored = 0n;
  /** A position that was not reached in time: as long as the stream is behind it, nobody waits. */
  #missed = 0n;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Everything up to the position is durable in Tidemark. */
  note(stored: bigint): void {
    this.#stored = stored;
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
    });
  }

  #end(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    waiter.cancel();
    waiter.resolve();
  }
}
