import type { PushAddress, PushAddresses } from './push-addresses.ts';

export interface SearchHooks {
  onFound(address: PushAddress): void;
  /** Called the first time the system gives no address, with its reason. */
  onFailed(error: unknown): void;
}

/**
 * Asks the system for the address until it gives one: at the start, and again after each sync. Google gives none without a network, and
 * a user may allow push messages later.
 */
export class AddressSearch {
  readonly #addresses: PushAddresses;
  readonly #hooks: SearchHooks;
  /** When the device had last synced when the system was asked. */
  #askedAfterMs: number | null | undefined;
  #isAsking = false;
  #hasFailed = false;
  #hasEnded = false;

  constructor(addresses: PushAddresses, hooks: SearchHooks) {
    this.#addresses = addresses;
    this.#hooks = hooks;
  }

  /** To be called at the start and when the status of the device changes. */
  run(lastSyncedAtMs: number | null): void {
    if (this.#hasEnded || this.#isAsking || this.#askedAfterMs === lastSyncedAtMs) return;
    this.#askedAfterMs = lastSyncedAtMs;
    this.#isAsking = true;
    void this.#ask();
  }

  /** An address that the system tells by itself is newer. */
  end(): void {
    this.#hasEnded = true;
  }

  async #ask(): Promise<void> {
    try {
      const address = await this.#addresses.current();
      if (address === null || this.#hasEnded) return;
      this.#hasEnded = true;
      this.#hooks.onFound(address);
    } catch (error) {
      if (this.#hasFailed || this.#hasEnded) return;
      this.#hasFailed = true;
      this.#hooks.onFailed(error);
    } finally {
      this.#isAsking = false;
    }
  }
}
