import type { Network } from './network.ts';

/** The part that talks to the server, which is loaded when it is needed first. */
export class LazyNetwork {
  readonly #make: () => Promise<Network>;
  #current: Network | null = null;
  #loading: Promise<Network> | null = null;

  constructor(make: () => Promise<Network>) {
    this.#make = make;
  }

  /** Null: it is not loaded yet. Then nothing is known of the server, and everything is to be pulled. */
  get current(): Network | null {
    return this.#current;
  }

  /** Rejects if it cannot be loaded; the next call tries again. */
  async load(): Promise<Network> {
    if (this.#current !== null) return this.#current;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    return await this.#loading;
  }

  async #load(): Promise<Network> {
    this.#current = await this.#make();
    return this.#current;
  }
}
