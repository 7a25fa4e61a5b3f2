import { PING_DEVICES_MAX, pointer, Refusal } from '@tidemark/protocol';
import { readClientRecord } from '../devices/client-record.ts';
import { clientsOf } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { Pace } from '../ports/pace.ts';
import type { Store } from '../ports/store.ts';
import { isWithoutAddress, type PingDevice } from './choose-devices.ts';

export interface AddresseeLookUpPorts {
  readonly store: Store;
  readonly pace?: Pace;
  /** Whether a device has an open connection, at any server. Absent: no device has. */
  readonly isListening?: (client: string) => boolean | Promise<boolean>;
}

/** Whom a ping is for. */
export interface Addressees {
  readonly users: number;
  readonly unknown: readonly string[];
  readonly devices: readonly PingDevice[];
  /** Devices without an address that have an open connection. */
  readonly listening?: ReadonlySet<string>;
}

/** Look-ups between two pauses. */
const LOOKUPS_PER_PAUSE = 500;

/** Finds the devices that a ping is for. */
export class AddresseeLookUp {
  readonly #ports: AddresseeLookUpPorts;

  constructor(ports: AddresseeLookUpPorts) {
    this.#ports = ports;
  }

  /** Returns those of the devices that are registered. */
  async devices(clients: readonly string[]): Promise<readonly PingDevice[]> {
    const devices: PingDevice[] = [];
    const pause = this.#pauser();
    for (const client of clients) {
      await pause();
      const entry = await this.#ports.store.readEntry(refs.client(client));
      if (entry !== null) devices.push({ client, record: readClientRecord(entry.value) });
    }
    return devices;
  }

  /** Returns which of the devices without an address have an open connection. */
  async listening(devices: readonly PingDevice[]): Promise<ReadonlySet<string>> {
    const { isListening } = this.#ports;
    const listening = new Set<string>();
    if (isListening === undefined) return listening;
    const clients = devices.filter(isWithoutAddress).map(({ client }) => client);
    // With several servers each look-up asks the others, so many are made at once.
    for (let start = 0; start < clients.length; start += LOOKUPS_PER_PAUSE) {
      const some = clients.slice(start, start + LOOKUPS_PER_PAUSE);
      const answers = await Promise.all(some.map((client) => isListening(client)));
      for (const [index, client] of some.entries()) if (answers[index] === true) listening.add(client);
    }
    return listening;
  }

  async ofUsers(users: readonly string[]): Promise<Addressees> {
    const { store } = this.#ports;
    const unknown: string[] = [];
    const devices: PingDevice[] = [];
    const pause = this.#pauser();
    for (const user of users) {
      await pause();
      if ((await store.readEntry(refs.user(user))) === null) unknown.push(user);
      else for await (const device of this.#devicesOf(user, pause)) devices.push(device);
      if (devices.length > PING_DEVICES_MAX) throw tooMany();
    }
    return { users: users.length - unknown.length, unknown, devices };
  }

  async *#devicesOf(user: string, pause: () => Promise<void>): AsyncGenerator<PingDevice> {
    const { store } = this.#ports;
    for (const client of await clientsOf(store, user)) {
      await pause();
      const entry = await store.readEntry(refs.client(client));
      const record = entry === null ? null : readClientRecord(entry.value);
      if (record !== null && record.user === user) yield { client, record };
    }
  }

  #pauser(): () => Promise<void> {
    let lookups = 0;
    return async () => {
      if (++lookups % LOOKUPS_PER_PAUSE === 0) await this.#ports.pace?.turn();
    };
  }
}

function tooMany(): Refusal {
  const detail = `the users have more than the ${PING_DEVICES_MAX} devices of one ping`;
  return new Refusal('limit_exceeded', detail, [{ pointer: pointer('user_id'), detail }]);
}
