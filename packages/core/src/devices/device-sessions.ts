import { Refusal } from '@tidemark/protocol';
import type { Bearers } from '../accounts/bearers.ts';
import type { Clock } from '../ports/clock.ts';
import type { Clients, OwnDevice } from './clients.ts';
import type { DeviceId } from './device-id.ts';

export interface DeviceSessionsParts {
  readonly clock: Clock;
  readonly clients: Pick<Clients, 'own'>;
  readonly bearers: Pick<Bearers, 'isGood'>;
}

/** A device with its registration, which tells it from earlier and later devices of the same id. */
export interface RegisteredDevice extends DeviceId {
  readonly registration: number;
}

/** The device that calls, and the token it calls with. Without a token, only its registration is checked. */
export interface DeviceCaller extends DeviceId {
  readonly tokenHash?: string;
}

/**
 * Ties what is read for a device to the device itself. The store answers each read from its own moment, so a user may be
 * deleted and created again, as somebody else, between the check of the device and the read of the data. The registration
 * of a device goes with its user in one step and never comes back with the same version. Therefore data that was read
 * between two checks that found the same registration belongs to the user of that device.
 */
export class DeviceSessions {
  readonly #parts: DeviceSessionsParts;

  constructor(parts: DeviceSessionsParts) {
    this.#parts = parts;
  }

  /** Rejects unless the device is the user's own. Called before anything is read for it. */
  open({ user, client }: DeviceId): Promise<OwnDevice> {
    return this.#parts.clients.own(user, client);
  }

  /**
   * Looks up the registration of the device that calls. Every write of the call is guarded by it, so that a call is not
   * finished for a later user of the same login and device id. A token goes with its user: one that is still good after
   * the registration was read belongs to the same user.
   */
  async identify({ user, client, tokenHash }: DeviceCaller): Promise<RegisteredDevice> {
    const { clients, bearers, clock } = this.#parts;
    const { registration } = await clients.own(user, client);
    if (tokenHash !== undefined && !(await bearers.isGood(tokenHash, clock.nowMs()))) throw tokenInvalid();
    return { user, client, registration };
  }

  /**
   * Rejects unless the device has been registered all the time since `opened`, and its token is still good. Called after
   * data was read for the device and before any of it is delivered. Returns what is known of the device now.
   */
  async verify(caller: DeviceCaller, opened: Pick<OwnDevice, 'registration'>): Promise<OwnDevice> {
    const { clients, bearers, clock } = this.#parts;
    const { user, client, tokenHash } = caller;
    const [now, isGood] = await Promise.all([
      clients.own(user, client),
      tokenHash === undefined ? true : bearers.isGood(tokenHash, clock.nowMs()),
    ]);
    if (!isGood) throw tokenInvalid();
    if (now.registration !== opened.registration) {
      throw new Refusal('client_not_found', 'the device was deleted meanwhile, and registered again');
    }
    return now;
  }
}

function tokenInvalid(): Refusal {
  return new Refusal('token_invalid', 'the token has expired or was revoked meanwhile');
}
