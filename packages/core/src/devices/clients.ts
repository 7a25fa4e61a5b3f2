import { CLIENTS_PER_USER_MAX, nameProblem, pointer, Refusal } from '@tidemark/protocol';
import { tokenRemovals, tokensOf } from '../accounts/token-record.ts';
import { admitName, quoted } from '../admission/admit-name.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import { clientsOf, ownerRemoved, ownerTouched, readOwnerVersion } from '../entries/owner-index.ts';
import { ParsedEntryCache } from '../entries/parsed-entry-cache.ts';
import { PRESENT, refs } from '../entries/refs.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Entry, EntryWrite, Store } from '../ports/store.ts';
import { randomId } from '../primitives/base62.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { admitAddress, admitDeviceUpdate, admitRegistration, admitShownText } from './admit-device.ts';
import { BLANK_DEVICE, type ClientRecord, type Device, readClientRecord, writeClientRecord } from './client-record.ts';
import { type ClientView, clientNotFound, clientViewOf, clientWiped } from './client-view.ts';
import { WipeOrders } from './wipe-orders.ts';

export interface ClientsPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly clientsPerUserMax?: number;
  /** Called before a device is recorded as erased: what it had acknowledged does not count from then on. */
  readonly onErased?: (id: string) => Promise<void>;
}

/** What a pull needs to know about its device. */
export interface OwnDevice {
  readonly user: string;
  readonly lastSyncMs: number | null;
  readonly restarts: ReadonlyMap<string, number>;
  /** Source → the version of its schema that the app was built with, as the app says. */
  readonly schemaVersions: ReadonlyMap<string, number>;
  /** True: an administrator has ordered to erase the device. */
  readonly isWiped: boolean;
  /** Stays the same while the device is registered, and differs after it was deleted and registered again. */
  readonly registration: number;
  /** Changes with everything that is stored about the device, and never comes back after the device was deleted. */
  readonly version: number;
}

/** A device that a user has signed in on. */
export interface EnteredDevice {
  readonly id: string;
  /** False: it was registered now. */
  readonly isReturning: boolean;
  /** True: it must erase its data before anything else. */
  readonly isWiped: boolean;
}

/** `last_sync` is written at most this often, so that a pull without changes costs no write. */
export const LAST_SYNC_EVERY_MS = 60_000;

/** The registered devices. Each belongs to one user. */
export class Clients {
  /** The orders to erase devices. */
  readonly wipes: WipeOrders;
  readonly #ports: ClientsPorts;
  readonly #store: Store;
  readonly #devices = new ParsedEntryCache(ownDeviceOf);
  readonly #clientsPerUserMax: number;

  constructor(ports: ClientsPorts) {
    this.#ports = ports;
    this.#store = ports.store;
    this.wipes = new WipeOrders({
      ...ports,
      own: (login, id) => this.#own(login, id),
      write: (id, entry, record) => this.#write(id, entry, record),
    });
    this.#clientsPerUserMax = ports.clientsPerUserMax ?? CLIENTS_PER_USER_MAX;
  }

  /** Registers a device. A `client_id` among the attributes that the user already has is updated instead. */
  async register(user: unknown, attributes: unknown): Promise<ClientView> {
    const login = admitName('login', user, pointer('user_id'));
    const { clientId, device } = admitRegistration(attributes);
    const id = clientId ?? randomId(this.#ports.random);
    return retryOnConflict(() => this.#tryRegister(login, id, device));
  }

  async has(id: string): Promise<boolean> {
    return (await this.#store.readEntry(refs.client(id))) !== null;
  }

  /** Returns the owner of the device; null when there is no such device. */
  async userOf(id: string): Promise<string | null> {
    const entry = await this.#store.readEntry(refs.client(id));
    return entry === null ? null : readClientRecord(entry.value).user;
  }

  async get(id: unknown): Promise<ClientView> {
    const name = admitName('client', id, pointer('client_id'));
    const view = await this.find(name);
    if (view === null) throw clientNotFound(name);
    return view;
  }

  /** Returns null when there is no such device. */
  async find(id: string): Promise<ClientView | null> {
    const entry = await this.#store.readEntry(refs.client(id));
    return entry === null ? null : clientViewOf(id, readClientRecord(entry.value));
  }

  /**
   * Returns the device that a user signs in on: the one with the wanted id if it belongs to him, otherwise a new one. Its
   * attributes are set, unless it is to be wiped. A device that was wiped becomes a new one.
   */
  async enter(user: string, wanted: string | null, attributes: object): Promise<EnteredDevice> {
    const known = await this.returning(user, wanted);
    if (known === null)
      return { id: (await this.register(user, attributes)).client_id, isReturning: false, isWiped: false };
    if (!known.isWiped && Object.keys(attributes).length > 0) await this.update(user, known.id, attributes);
    return { ...known, isReturning: true };
  }

  /** Returns the device that the user signs in on again; null: it will be a new one. */
  async returning(user: string, wanted: string | null): Promise<Omit<EnteredDevice, 'isReturning'> | null> {
    if (wanted === null || nameProblem('client', wanted) !== null) return null;
    const found = await this.find(wanted);
    if (found === null || found.user_id !== user || (found.wipe !== null && found.wipe.confirmed_at !== null))
      return null;
    return { id: wanted, isWiped: found.wipe !== null };
  }

  /** Refuses attributes that no device may give itself. */
  requireAttributes(attributes: unknown): void {
    admitDeviceUpdate('', attributes);
  }

  async update(user: unknown, id: unknown, attributes: unknown): Promise<ClientView> {
    const login = admitName('login', user, pointer('user_id'));
    const name = admitName('client', id, pointer('client_id'));
    const device = admitDeviceUpdate(name, attributes);
    return retryOnConflict(async () => this.#tryChange(name, await this.#ownUnwiped(login, name), device));
  }

  /**
   * Returns the device, or refuses when it does not belong to the user, or is to be wiped. Every call of a device comes
   * here before it gets an answer.
   */
  async own(login: string, id: string): Promise<OwnDevice> {
    const device = await this.registered(login, id);
    if (device.isWiped) throw clientWiped(id);
    return device;
  }

  /** Returns the device, also one that is to be wiped; refuses when it does not belong to the user. */
  async registered(login: string, id: string): Promise<OwnDevice> {
    const [entry, registered] = await Promise.all([
      this.#store.readEntry(refs.client(id)),
      this.#store.readEntry(refs.userClient(login, id)),
    ]);
    if (entry === null || registered === null) throw clientNotFound(id);
    const device = this.#devices.of(id, entry);
    if (device.user !== login) throw clientNotFound(id);
    return { ...device, registration: registered.version, version: entry.version };
  }

  /** Whether everything that is stored about the device is as it was when `own` returned this version. */
  async isUnchanged(id: string, version: number): Promise<boolean> {
    return (await this.#store.readEntry(refs.client(id)))?.version === version;
  }

  /** Invalidates the tokens the device holds for these sources, so that it starts over. */
  async restart(login: string, id: string, sources: readonly string[]): Promise<void> {
    await retryOnConflict(async () => {
      const entry = await this.#ownUnwiped(login, id);
      const record = readClientRecord(entry.value);
      const restarts = new Map(Object.entries(record.restarts));
      for (const source of sources) restarts.set(source, (restarts.get(source) ?? 0) + 1);
      return (await this.#write(id, entry, { ...record, restarts: Object.fromEntries(restarts) })) ? true : null;
    });
  }

  async listOf(user: unknown): Promise<readonly string[]> {
    const login = admitName('login', user, pointer('user_id'));
    await this.#requireUser(login);
    return clientsOf(this.#store, login);
  }

  /** Deletes the device with its tokens, documents and tidemarks in one step. */
  async delete(user: unknown, id: unknown): Promise<{ readonly deleted: string }> {
    const login = admitName('login', user, pointer('user_id'));
    const name = admitName('client', id, pointer('client_id'));
    await this.#requireUser(login);
    return retryOnConflict(() => this.#tryDelete(login, name));
  }

  /** Whether the device is to be wiped. False also when there is no such device. */
  async isWiped(id: string): Promise<boolean> {
    const entry = await this.#store.readEntry(refs.client(id));
    return entry !== null && this.#devices.of(id, entry).isWiped;
  }

  /** Sets what administrators call the device; null or an empty text: nothing. */
  async setLabel(id: unknown, label: unknown): Promise<ClientView> {
    const name = admitName('client', id, pointer('client_id'));
    const text = admitShownText('label', label);
    return retryOnConflict(async () => {
      const entry = await this.#store.readEntry(refs.client(name));
      if (entry === null) throw clientNotFound(name);
      const { label: _old, ...rest } = readClientRecord(entry.value);
      const record = text === null ? rest : { ...rest, label: text };
      return (await this.#write(name, entry, record)) ? clientViewOf(name, record) : null;
    });
  }

  /** Records the time of a sync. Does nothing when the device was deleted meanwhile. */
  async noteSync(id: string, nowMs: number): Promise<void> {
    const entry = await this.#store.readEntry(refs.client(id));
    if (entry === null) return;
    const record = readClientRecord(entry.value);
    if (record.lastSyncMs !== null && elapsedMs(record.lastSyncMs, nowMs) < LAST_SYNC_EVERY_MS) return;
    // A conflict means that another call has just written the entry; the next sync records its time.
    await this.#write(id, entry, { ...record, lastSyncMs: nowMs });
  }

  async count(): Promise<number> {
    return this.#store.countEntries('client');
  }

  async #tryRegister(login: string, id: string, device: Partial<Device>): Promise<ClientView | null> {
    const [, entry] = await Promise.all([this.#requireUser(login), this.#store.readEntry(refs.client(id))]);
    if (entry === null) return this.#tryAdd(login, id, device);
    if (readClientRecord(entry.value).user === login) return this.#tryChange(id, entry, device);
    throw new Refusal('client_exists', `the client id ${quoted(id)} is taken`);
  }

  async #tryAdd(login: string, id: string, device: Partial<Device>): Promise<ClientView | null> {
    const whole = { ...BLANK_DEVICE, ...device };
    admitAddress(whole, device);
    // Counting and writing are two steps: registrations that run at the same moment may exceed the limit.
    if ((await this.#store.countEntries('user_client', [login])) >= this.#clientsPerUserMax) {
      // The last place may have gone to this very device, when it was registered twice at the same moment.
      if (await this.has(id)) return null;
      throw this.#noRoom(login);
    }
    const record: ClientRecord = {
      user: login,
      device: whole,
      createdAtMs: this.#ports.clock.nowMs(),
      lastSyncMs: null,
      restarts: {},
    };
    const writes: EntryWrite[] = [
      { ...refs.client(id), value: writeClientRecord(record), expect: 0 },
      { ...refs.userClient(login, id), value: PRESENT },
      ownerTouched('user', login),
    ];
    const result = await this.#store.writeEntries({ writes, guards: [refs.user(login)] });
    if (result.status === 'gone') throw refuseGone(result.guard);
    return result.status === 'written' ? clientViewOf(id, record) : null;
  }

  async #tryChange(id: string, entry: Entry, device: Partial<Device>): Promise<ClientView | null> {
    const old = readClientRecord(entry.value);
    const record = { ...old, device: { ...old.device, ...device } };
    admitAddress(record.device, device);
    return (await this.#write(id, entry, record)) ? clientViewOf(id, record) : null;
  }

  /** Returns false when the entry was changed or deleted meanwhile. */
  async #write(id: string, entry: Entry, record: ClientRecord): Promise<boolean> {
    const write = { ...refs.client(id), value: writeClientRecord(record), expect: entry.version };
    return (await this.#store.writeEntries({ writes: [write], guards: [] })).status === 'written';
  }

  async #tryDelete(login: string, id: string): Promise<{ readonly deleted: string } | null> {
    // The version of the owner is read first: a token issued for the device from here on makes the batch fail.
    const owner = await readOwnerVersion(this.#store, 'client', id);
    const entry = await this.#own(login, id);
    const tokens = (await tokensOf(this.#store, login)).filter(({ client }) => client === id);
    const writes: EntryWrite[] = [
      { ...refs.client(id), value: null, expect: entry.version },
      { ...refs.userClient(login, id), value: null },
      ownerRemoved(owner),
      ...tokenRemovals(login, tokens, { code: 'client_deleted', nowMs: this.#ports.clock.nowMs() }),
    ];
    const result = await this.#store.writeEntries({ writes, guards: [refs.user(login)], erase: { clients: [id] } });
    if (result.status === 'gone') throw refuseGone(result.guard);
    return result.status === 'written' ? { deleted: id } : null;
  }

  /** A device of another user is reported as not found, so that its existence is not revealed. */
  async #own(login: string, id: string): Promise<Entry> {
    const entry = await this.#store.readEntry(refs.client(id));
    if (entry === null || readClientRecord(entry.value).user !== login) throw clientNotFound(id);
    return entry;
  }

  async #ownUnwiped(login: string, id: string): Promise<Entry> {
    const entry = await this.#own(login, id);
    if (this.#devices.of(id, entry).isWiped) throw clientWiped(id);
    return entry;
  }

  async #requireUser(login: string): Promise<void> {
    if ((await this.#store.readEntry(refs.user(login))) !== null) return;
    throw new Refusal('user_not_found', `there is no user ${quoted(login)}`);
  }

  #noRoom(login: string): Refusal {
    const max = this.#clientsPerUserMax;
    return new Refusal('limit_exceeded', `the user ${quoted(login)} has the ${max} clients allowed`);
  }
}

function ownDeviceOf(_id: string, { value }: Entry): Omit<OwnDevice, 'registration' | 'version'> {
  const { user, device, lastSyncMs, restarts, wipe } = readClientRecord(value);
  return {
    ...{ user, lastSyncMs, isWiped: wipe !== undefined },
    restarts: new Map(Object.entries(restarts)),
    schemaVersions: new Map(Object.entries(device.schema_versions ?? {})),
  };
}
