import { ClientError, type Device } from '@tidemark/client';
import { AddressSearch } from './address-search.ts';
import type { PushAddress, PushAddresses } from './push-addresses.ts';

export interface PushHooks {
  /** Called when the server refuses the address, and the first time the system gives none. Whatever else fails is tried again after the next sync. */
  readonly onRefused?: (error: unknown) => void;
}

/**
 * Tells the server where push messages reach this device: once after every start, after every sign-in, and when the address changes.
 * Returns the function that ends this.
 */
export function registerForPushes(
  device: Pick<Device, 'describe' | 'status'>,
  addresses: PushAddresses,
  hooks: PushHooks = {},
): () => void {
  const registration = new Registration(device, hooks);
  const search = new AddressSearch(addresses, {
    onFound: (address) => registration.take(address),
    onFailed: (error) => hooks.onRefused?.(error),
  });
  const look = () => search.run(device.status.getSnapshot().lastSyncedAtMs);
  const ends = [
    addresses.onChange((address) => {
      search.end();
      registration.take(address);
    }),
    device.status.subscribe(() => {
      registration.run();
      look();
    }),
  ];
  look();
  return () => {
    search.end();
    registration.end();
    for (const end of ends) end();
  };
}

/** What stands at the server after a call: the device of a user, and its address. */
interface Told {
  readonly clientId: string | null;
  readonly userId: string | null;
  readonly address: PushAddress;
  /** The server may have forgotten the device between two sessions. */
  readonly session: number;
}

class Registration {
  readonly #device: Pick<Device, 'describe' | 'status'>;
  readonly #hooks: PushHooks;
  #address: PushAddress | null = null;
  #told: Told | null = null;
  /** Counts the sessions that have ended. */
  #session = 0;
  /** When the device had last synced before a call that failed: the next one follows the next sync. */
  #failedAfterMs: number | null | undefined;
  #isAsking = false;
  #hasEnded = false;

  constructor(device: Pick<Device, 'describe' | 'status'>, hooks: PushHooks) {
    this.#device = device;
    this.#hooks = hooks;
  }

  take(address: PushAddress): void {
    if (this.#address?.device_pin === address.device_pin) return;
    this.#address = address;
    this.#failedAfterMs = undefined;
    this.run();
  }

  end(): void {
    this.#hasEnded = true;
  }

  run(): void {
    const { mode, clientId, userId, isOnline, lastSyncedAtMs } = this.#device.status.getSnapshot();
    const address = this.#address;
    const isSignedIn = userId !== null && mode !== 'signed_out' && mode !== 'needs_sign_in' && mode !== 'stopped';
    if (!isSignedIn) this.#session++;
    if (this.#hasEnded || this.#isAsking || address === null || !isSignedIn || !isOnline) return;
    const next: Told = { clientId, userId, address, session: this.#session };
    if (this.#told !== null && isSame(this.#told, next)) return;
    if (this.#failedAfterMs === lastSyncedAtMs) return;
    this.#isAsking = true;
    void this.#tell(next, lastSyncedAtMs).finally(() => {
      this.#isAsking = false;
      this.run();
    });
  }

  async #tell(told: Told, lastSyncedAtMs: number | null): Promise<void> {
    try {
      await this.#device.describe({ device_push_type: null, ...told.address });
      this.#told = told;
      this.#failedAfterMs = undefined;
    } catch (error) {
      this.#failedAfterMs = lastSyncedAtMs;
      if (!isRefusal(error)) return;
      this.#told = told;
      this.#hooks.onRefused?.(error);
    }
  }
}

function isSame(left: Told, right: Told): boolean {
  return (
    left.clientId === right.clientId &&
    left.userId === right.userId &&
    left.address === right.address &&
    left.session === right.session
  );
}

/** The server would say the same again. 401 and 404: the session ends; 429: later. */
function isRefusal(error: unknown): boolean {
  return error instanceof ClientError && (error.status === 400 || error.status === 413 || error.status === 422);
}
