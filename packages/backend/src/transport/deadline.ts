import type { Platform } from '../platform.ts';

/** Aborts one attempt when its time is up or the caller aborts it. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal | undefined;
  readonly #cancelTimer: () => void;
  readonly #stop = () => this.#controller.abort();
  #isSpent = false;

  constructor(platform: Platform, timeoutMs: number, callerSignal: AbortSignal | undefined) {
    this.#callerSignal = callerSignal;
    this.#cancelTimer = platform.after(timeoutMs, () => {
      this.#isSpent = true;
      this.#stop();
    });
    callerSignal?.addEventListener('abort', this.#stop, { once: true });
    if (callerSignal?.aborted) this.#stop();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the time is up, and the caller did not abort. */
  get isSpent(): boolean {
    return this.#isSpent && this.#callerSignal?.aborted !== true;
  }

  /** Stops the timer; the caller can still abort. */
  stopClock(): void {
    this.#cancelTimer();
  }

  release(): void {
    this.#cancelTimer();
    this.#callerSignal?.removeEventListener('abort', this.#stop);
  }
}
