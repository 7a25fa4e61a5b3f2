import { PAUSE_MS_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import type { ServerEventListener } from '../transport/event-listener.ts';

type Module = typeof import('../transport/event-listener.ts');

/** Reads the event stream. The code that does it is loaded when the device uses the network the first time. */
export class LazyEventListener {
  readonly #platform: Platform;
  readonly #make: (module: Module) => ServerEventListener;
  #cancelRetry: () => void = () => undefined;
  #listener: ServerEventListener | null = null;
  #isStarted = false;

  constructor(platform: Platform, make: (module: Module) => ServerEventListener) {
    this.#platform = platform;
    this.#make = make;
  }

  start(): void {
    this.#isStarted = true;
    if (this.#listener === null) void this.#load();
    else this.#listener.start();
  }

  stop(): void {
    this.#isStarted = false;
    this.#cancelRetry();
    this.#listener?.stop();
  }

  /** Ends the pause before the next attempt. */
  retryNow(): void {
    if (this.#listener !== null) this.#listener.retryNow();
    else if (this.#isStarted) void this.#load();
  }

  async #load(): Promise<void> {
    this.#cancelRetry();
    try {
      const module = await import('../transport/event-listener.ts');
      if (!this.#isStarted || this.#listener !== null) return;
      this.#listener = this.#make(module);
      this.#listener.start();
    } catch {
      // There is no network after all.
      if (this.#isStarted) this.#cancelRetry = this.#platform.after(PAUSE_MS_MAX, () => void this.#load());
    }
  }
}
