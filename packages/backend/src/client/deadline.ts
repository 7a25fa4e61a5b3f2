import type { World } from '../world.ts';

/** Ends one attempt: when its time is up, or when the caller says so. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal | undefined;
  readonly #cancelTimer: () => void;
  readonly #stop = () => this.#controller.abort();
  #isSpent = false;

  constructor(world: World, timeoutMs: number, callerSignal: AbortSignal | undefined) {
    this.#callerSignal = callerSignal;
    this.#cancelTimer = world.after(timeoutMs, () => {
      this.#isSpent = true;
      this.#stop();
    });
    callerSignal?.addEventListener('abort', this.#stop, { once: true });
    if (callerSignal?.aborted) this.#stop();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The time is up, and it was not the caller who stopped it. */
  get isSpent(): boolean {
    return this.#isSpent && this.#callerSignal?.aborted !== true;
  }

  /** From now on only the caller can stop it. */
  stopClock(): void {
    this.#cancelTimer();
  }

  release(): void {
    this.#cancelTimer();
    this.#callerSignal?.removeEventListener('abort', this.#stop);
  }
}
