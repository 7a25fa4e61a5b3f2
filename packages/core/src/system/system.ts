import { parseJson, Refusal } from '@tidemark/protocol';
import type { Tokens } from '../accounts/tokens.ts';
import type { Users } from '../accounts/users.ts';
import type { Clients } from '../devices/clients.ts';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { EntryRef, Store } from '../ports/store.ts';
import { randomId } from '../primitives/base62.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { isoTime } from '../primitives/time.ts';
import type { Sources } from '../sources/sources.ts';
import { admitUrl, type UrlRules } from './admit-url.ts';

export interface SystemPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly users: Users;
  readonly clients: Clients;
  readonly sources: Sources;
  readonly tokens: Tokens;
  /** The version of the product, shown with the licence. */
  readonly version?: string;
  /** Absent: true. */
  readonly isResetAllowed?: boolean;
  /** Rules for the URL of the backend. */
  readonly urlRules?: UrlRules;
  /** Entries of the server that are kept by a reset. */
  readonly keptOnReset?: readonly EntryRef[];
}

export interface BootstrapCall {
  readonly adminLogin: string;
  /** Null: a password is generated and returned once. */
  readonly adminPassword: string | null;
  readonly configuredSources: readonly unknown[];
  readonly licensee: string | null;
}

export interface Bootstrapped {
  readonly adminLogin: string;
  readonly adminCreated: boolean;
  /** The generated password, at the first start only. It is not stored. */
  readonly generatedPassword: string | null;
}

export interface Appserver {
  readonly adapter_url: string | null;
}

const SECRET_BYTES = 32;
const ANYWHERE: UrlRules = { ownOrigins: [] };

/** The server as a whole: first start, licence, backend URL and reset. */
export class System {
  readonly #ports: SystemPorts;
  readonly #store: Store;

  constructor(ports: SystemPorts) {
    this.#ports = ports;
    this.#store = ports.store;
  }

  /** To be called at every start. Creates the administrator at the first one. */
  async bootstrap(call: BootstrapCall): Promise<Bootstrapped> {
    await retryOnConflict(() => this.#tryNoteLicensee(call.licensee));
    await this.#ports.sources.configure(call.configuredSources);
    const admins = await this.#ports.users.admins();
    if (admins.length > 0) return { adminLogin: call.adminLogin, adminCreated: false, generatedPassword: null };
    return this.#createAdmin(call);
  }

  /**
   * Deletes everything and gives the store a new epoch. Administrators keep their account and password, configured sources
   * stay, and the token `keepTokenId` stays valid.
   */
  async reset(call: { readonly keepTokenId?: string } = {}): Promise<{ readonly epoch: string }> {
    if (this.#ports.isResetAllowed === false) {
      throw new Refusal('reset_disabled', 'this server is configured not to be reset');
    }
    return { epoch: await this.#store.reset(await this.#kept(call.keepTokenId)) };
  }

  async license(): Promise<License> {
    const entry = await this.#store.readEntry(refs.setting('license'));
    const record = entry === null ? null : readLicenseRecord(entry.value);
    return {
      license: 'Apache-2.0',
      edition: 'community',
      licensee: record?.licensee ?? null,
      seats: null,
      devices: await this.#ports.clients.count(),
      available: null,
      issued: record === null ? null : isoTime(record.issuedAtMs),
      expires: null,
      version: this.#ports.version ?? 'unknown',
    };
  }

  async appserver(): Promise<Appserver> {
    const entry = await this.#store.readEntry(refs.setting('adapter_url'));
    return { adapter_url: entry?.value ?? null };
  }

  /** Null removes the backend. */
  async setAppserver(call: { readonly adapter_url: unknown }): Promise<Appserver> {
    const url = call.adapter_url === null ? null : admitUrl(call.adapter_url, this.#ports.urlRules ?? ANYWHERE);
    await this.#store.writeEntries({ writes: [{ ...refs.setting('adapter_url'), value: url }], guards: [] });
    return { adapter_url: url };
  }

  /** The secret that signs calls to the backend, unless it is configured. It is generated once for all servers. */
  backendSecret(): Promise<string> {
    return retryOnConflict(async () => {
      const ref = refs.setting('backend_secret');
      const known = await this.#store.readEntry(ref);
      if (known !== null) return known.value;
      const value = `whsec_${Buffer.from(this.#ports.random.bytes(SECRET_BYTES)).toString('base64')}`;
      const result = await this.#store.writeEntries({ writes: [{ ...ref, value, expect: 0 }], guards: [] });
      return result.status === 'written' ? value : null;
    });
  }

  async #createAdmin({ adminLogin, adminPassword }: BootstrapCall): Promise<Bootstrapped> {
    const generatedPassword = adminPassword === null ? randomId(this.#ports.random) : null;
    try {
      await this.#ports.users.createAdmin({ login: adminLogin, password: adminPassword ?? generatedPassword });
    } catch (error) {
      // Another server on the same store was faster.
      const isTaken = error instanceof Refusal && error.code === 'user_exists';
      if (!isTaken || !(await this.#ports.users.isAdmin(adminLogin))) throw error;
      return { adminLogin, adminCreated: false, generatedPassword: null };
    }
    return { adminLogin, adminCreated: true, generatedPassword };
  }

  async #tryNoteLicensee(licensee: string | null): Promise<true | null> {
    const ref = refs.setting('license');
    const entry = await this.#store.readEntry(ref);
    const known = entry === null ? null : readLicenseRecord(entry.value);
    if (known !== null && known.licensee === licensee) return true;
    const value = writeLicenseRecord({ licensee, issuedAtMs: known?.issuedAtMs ?? this.#ports.clock.nowMs() });
    const result = await this.#store.writeEntries({
      writes: [{ ...ref, value, expect: entry?.version ?? 0 }],
      guards: [],
    });
    return result.status === 'written' ? true : null;
  }

  async #kept(keepTokenId: string | undefined): Promise<readonly EntryRef[]> {
    const { users, sources, keptOnReset = [] } = this.#ports;
    const admins = await users.admins();
    const configured = (await sources.list()).filter((source) => source.configured);
    return [
      refs.setting('license'),
      refs.setting('backend_secret'),
      ...keptOnReset,
      ...admins.flatMap((login) => [refs.user(login), refs.generation(login), refs.admin(login)]),
      ...configured.map(({ name }) => refs.source(name)),
      ...(keepTokenId === undefined ? [] : await this.#keptToken(keepTokenId, admins)),
    ];
  }

  /** A token survives a reset only together with its user and its device. */
  async #keptToken(id: string, admins: readonly string[]): Promise<readonly EntryRef[]> {
    const found = await this.#ports.tokens.find(id);
    if (found === null || found.record.client !== null || !admins.includes(found.record.user)) return [];
    return [refs.token(found.hash), refs.userToken(found.record.user, found.hash)];
  }
}

/** The licence of the server. There is no limit on seats. */
export interface License {
  readonly license: 'Apache-2.0';
  readonly edition: 'community';
  readonly licensee: string | null;
  /** Null: there is no limit. */
  readonly seats: null;
  readonly devices: number;
  readonly available: null;
  /** When this installation was first started; null before that. */
  readonly issued: string | null;
  readonly expires: null;
  readonly version: string;
}

/** The stored part of the licence. */
interface LicenseRecord {
  readonly licensee: string | null;
  readonly issuedAtMs: number;
}

function readLicenseRecord(text: string): LicenseRecord {
  return parseJson(text) as LicenseRecord;
}

function writeLicenseRecord(record: LicenseRecord): string {
  return JSON.stringify(record);
}
