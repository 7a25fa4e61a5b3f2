import type { NetworkHints } from '@tidemark/client';

/**
 * The network of one device. The SDK asks the platform whether there is a network and calls its `fetch`; here both are
 * replaced, so that each device of this page has a switch of its own. The switch stays as it is when the page is reloaded.
 */
export class NetworkSwitch implements NetworkHints {
  readonly #key: string;
  readonly #listeners = new Set<() => void>();

  /** `name` is that of the device's database. */
  constructor(name: string) {
    this.#key = `${name}-network`;
    // Another tab of this page shows the same devices, so it shares their switches.
    addEventListener('storage', ({ key }) => {
      if (key === this.#key) this.#announce();
    });
  }

  readonly isOnline = (): boolean => localStorage.getItem(this.#key) !== 'off';

  /** Returns the unsubscribe function. */
  readonly onChange = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly fetch = (url: string, init: RequestInit): Promise<Response> =>
    this.isOnline() ? fetch(url, init) : Promise.reject(new TypeError('the network of this device is switched off'));

  set(isOn: boolean): void {
    localStorage.setItem(this.#key, isOn ? 'on' : 'off');
    this.#announce();
  }

  #announce(): void {
    for (const listener of this.#listeners) listener();
  }
}
