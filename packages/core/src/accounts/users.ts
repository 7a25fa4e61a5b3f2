import { LIST_MAX, type Limits, nameProblem, pointer, Refusal } from '@tidemark/protocol';
import { admitName, quoted } from '../admission/admit-name.ts';
import { allEntries } from '../entries/all-entries.ts';
import { clientsOf, lastOf, type OwnerVersion, ownerUnchanged, readOwnerVersion } from '../entries/owner-index.ts';
import { PRESENT, refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Entry, EntryRef, EntryWrite, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { isoTime } from '../primitives/time.ts';
import { groupRemovals } from '../sources/groups.ts';
import { membershipRemovals } from '../sources/memberships.ts';
import { admitPassword } from './admit-password.ts';
import { admitNewUser, admitUserUpdate, mergedAttributes, type UserUpdate } from './admit-user.ts';
import { Credentials, type CredentialsPorts, type VerifiedUser } from './credentials.ts';
import { identityRemovals, loginIsTaken } from './identities.ts';
import { inviteRemovals } from './invites.ts';
import { loginRemovals } from './remembered-logins.ts';
import { type OwnedToken, tokenRemovals, tokensOf } from './token-record.ts';
import { userDeletion } from './user-deletion.ts';
import {
  type Credential,
  type Identity,
  readUserRecord,
  type UserAttributes,
  type UserRecord,
  writeUserRecord,
} from './user-record.ts';

export interface UsersPorts extends CredentialsPorts {
  /** Whether a device has been ordered to erase itself, and has not confirmed. Absent: none has. */
  readonly isToBeWiped?: (client: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly limits: Limits;
}

/** A user in answers, without password, hash and tokens. */
export interface UserView {
  readonly login: string;
  readonly attributes: UserAttributes;
  readonly clients: number;
  /** Null: no identity provider vouches for the user. */
  readonly identity: Identity | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface UserChange {
  readonly attributes: unknown;
  /** True: a new password of an administrator also revokes the service tokens. */
  readonly revoke_tokens?: boolean;
}

/** The registered users, administrators included. */
export class Users {
  readonly #ports: UsersPorts;
  readonly #store: Store;
  readonly #credentials: Credentials;

  constructor(ports: UsersPorts) {
    this.#ports = ports;
    this.#store = ports.store;
    this.#credentials = new Credentials(ports);
  }

  async create(call: { readonly attributes: unknown }): Promise<UserView> {
    const { login, password, attributes } = admitNewUser(call.attributes, this.#ports.limits);
    return this.#add(login, password, { attributes, admin: false });
  }

  async createAdmin(call: { readonly login: unknown; readonly password: unknown }): Promise<UserView> {
    const login = admitName('login', call.login, pointer('login'));
    const password = admitPassword(call.password, pointer('password'));
    return this.#add(login, password, { attributes: {}, admin: true });
  }

  /**
   * Creates a user without a password, for a login that the backend has confirmed, unless the user exists. Refuses
   * the login of a user of an identity provider: the backend does not vouch for that user.
   */
  async ensure(login: unknown): Promise<string> {
    const name = admitName('login', login, pointer('login'));
    const newUser = this.#newRecord({ attributes: {}, admin: false }, null);
    return retryOnConflict(async () => {
      const entry = await this.#store.readEntry(refs.user(name));
      if (entry === null) return (await this.#write(name, newUser)) ? name : null;
      if (readUserRecord(entry.value).identity !== undefined) throw loginIsTaken(name);
      return name;
    });
  }

  async has(login: string): Promise<boolean> {
    return (await this.#store.readEntry(refs.user(login))) !== null;
  }

  /** Returns a number that no other user of this login ever had or will have; null when there is no such user. */
  async generationOf(login: string): Promise<number | null> {
    return (await this.#store.readEntry(refs.generation(login)))?.version ?? null;
  }

  async get(login: unknown): Promise<UserView> {
    const name = admitName('login', login, pointer('user_id'));
    return this.#view(name, readUserRecord((await this.#require(name)).value));
  }

  /** Logins in the order of their keys; `after` is the last one of the previous page. */
  async list(page: { readonly after?: unknown; readonly limit?: number } = {}): Promise<readonly string[]> {
    const { after = '', limit = LIST_MAX } = page;
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > LIST_MAX) {
      const detail = `must be a whole number from 1 to ${LIST_MAX}`;
      throw new Refusal('invalid_value', `limit ${detail}`, [{ pointer: pointer('limit'), detail }]);
    }
    const from = after === '' ? {} : { after: [admitName('login', after, pointer('after'))] };
    const entries = await this.#store.listEntries({ kind: 'user', prefix: [], limit, ...from });
    return entries.map(({ key }) => lastOf(key));
  }

  async count(): Promise<number> {
    return this.#store.countEntries('user');
  }

  /**
   * Merges attributes. A new password revokes all tokens of the user in the same step, except the service tokens of an
   * administrator: programs depend on them, and they were not made from the password. `revoke_tokens` ends those, too.
   */
  async update(login: unknown, call: UserChange): Promise<UserView> {
    const name = admitName('login', login, pointer('user_id'));
    const update = admitUserUpdate(name, call.attributes, this.#ports.limits);
    await this.#require(name);
    const credential = update.password === null ? null : await this.#credentials.make(update.password);
    const isAllRevoked = call.revoke_tokens === true;
    return this.#view(name, await retryOnConflict(() => this.#tryUpdate(name, update, { credential, isAllRevoked })));
  }

  /**
   * Deletes the user with all devices, documents, tokens and tidemarks in one step. `by` is the caller: nobody can delete
   * their own account, so at least one administrator remains.
   */
  async delete(login: unknown, by?: string): Promise<{ readonly deleted: string }> {
    const name = admitName('login', login, pointer('user_id'));
    return retryOnConflict(() => this.#tryDelete(name, by));
  }

  /** Returns the user of login and password, or null. Neither answer nor time reveals which of the two is wrong. */
  verifyPassword(login: string, password: string): Promise<VerifiedUser | null> {
    return this.#credentials.verify(login, password);
  }

  async isAdmin(login: string): Promise<boolean> {
    if (nameProblem('login', login) !== null) return false;
    const entry = await this.#store.readEntry(refs.user(login));
    return entry !== null && readUserRecord(entry.value).admin;
  }

  async admins(): Promise<readonly string[]> {
    const logins: string[] = [];
    for await (const { key } of allEntries(this.#store, 'setting', ['admin'])) logins.push(lastOf(key));
    return logins;
  }

  async #add(login: string, password: string, role: Pick<UserRecord, 'attributes' | 'admin'>): Promise<UserView> {
    // Looked up before hashing, which is slow on purpose; the write below decides.
    if (await this.has(login)) throw userExists(login);
    const record = this.#newRecord(role, await this.#credentials.make(password));
    if (!(await this.#write(login, record))) throw userExists(login);
    return viewOf(login, record, 0);
  }

  /** Returns false when the login was taken meanwhile. */
  async #write(login: string, record: UserRecord): Promise<boolean> {
    const writes: EntryWrite[] = [
      { ...refs.user(login), value: writeUserRecord(record), expect: 0 },
      { ...refs.generation(login), value: PRESENT },
    ];
    if (record.admin) writes.push({ ...refs.admin(login), value: PRESENT });
    return (await this.#store.writeEntries({ writes, guards: [] })).status === 'written';
  }

  #newRecord(role: Pick<UserRecord, 'attributes' | 'admin'>, credential: Credential | null): UserRecord {
    const nowMs = this.#ports.clock.nowMs();
    return { ...role, credential, createdAtMs: nowMs, updatedAtMs: nowMs };
  }

  async #tryUpdate(
    login: string,
    update: UserUpdate,
    { credential, isAllRevoked }: { readonly credential: Credential | null; readonly isAllRevoked: boolean },
  ): Promise<UserRecord | null> {
    const revoked = credential === null ? null : await this.#tokensToRevoke(login);
    const entry = await this.#require(login);
    const old = readUserRecord(entry.value);
    if (credential === null && Object.keys(update.attributes).length === 0) return old;
    const record: UserRecord = {
      ...old,
      attributes: mergedAttributes(old.attributes, update.attributes, this.#ports.limits),
      credential: credential ?? old.credential,
      updatedAtMs: this.#ports.clock.nowMs(),
    };
    const write = { ...refs.user(login), value: writeUserRecord(record), expect: entry.version };
    const conditions =
      revoked === null
        ? []
        : [
            ownerUnchanged(revoked.owner),
            ...(await loginRemovals(this.#store, login)),
            ...(await inviteRemovals(this.#store, login)),
          ];
    const wiped = await this.#wipedClients(revoked?.tokens ?? []);
    // A token of a device that is to be wiped is good for nothing but the confirmation.
    const isKept = ({ isService, client }: OwnedToken) =>
      (isService && old.admin && !isAllRevoked) || (client !== null && wiped.has(client));
    const because = { code: 'password_changed', nowMs: record.updatedAtMs } as const;
    const revocations = tokenRemovals(login, revoked?.tokens.filter((token) => !isKept(token)) ?? [], because);
    const result = await this.#store.writeEntries({ writes: [write, ...conditions, ...revocations], guards: [] });
    if (result.status === 'conflict') await this.#remove(revocations);
    return result.status === 'written' ? record : null;
  }

  async #wipedClients(tokens: readonly OwnedToken[]): Promise<ReadonlySet<string>> {
    const wiped = new Set<string>();
    for (const client of new Set(tokens.map((token) => token.client))) {
      if (client !== null && (await this.#ports.isToBeWiped?.(client)) === true) wiped.add(client);
    }
    return wiped;
  }

  async #tokensToRevoke(login: string): Promise<{ readonly owner: OwnerVersion; readonly tokens: OwnedToken[] }> {
    const owner = await readOwnerVersion(this.#store, 'user', login);
    return { owner, tokens: await tokensOf(this.#store, login) };
  }

  /**
   * Revokes tokens at once when the whole batch met a conflict. Otherwise a device that keeps adding entries could prevent
   * the deletion of its user.
   */
  async #remove(tokens: readonly EntryWrite[]): Promise<void> {
    if (tokens.length > 0) await this.#store.writeEntries({ writes: tokens, guards: [] });
  }

  async #tryDelete(login: string, by: string | undefined): Promise<{ readonly deleted: string } | null> {
    // The version of the owner is read first: whatever is added from here on makes the batch fail.
    const { owner, tokens } = await this.#tokensToRevoke(login);
    const entry = await this.#require(login);
    if (by === login) throw new Refusal('last_admin', `${quoted(login)} cannot delete itself`);
    const record = readUserRecord(entry.value);
    const successor = record.admin ? await this.#successorOf(login) : null;
    const clients = await clientsOf(this.#store, login);
    const sources = await this.#sources();
    const traces = [
      ...(await loginRemovals(this.#store, login)),
      ...identityRemovals(record),
      ...(await inviteRemovals(this.#store, login)),
      ...(await groupRemovals(this.#store, login)),
    ];
    for (const source of sources) traces.push(...(await membershipRemovals(this.#store, source, login)));
    const batch = userDeletion({ login, entry, owner, clients, tokens, sources, traces, successor });
    const result = await this.#store.writeEntries(batch);
    if (result.status === 'conflict') await this.#remove(tokenRemovals(login, tokens));
    return result.status === 'written' ? { deleted: login } : null;
  }

  async #successorOf(login: string): Promise<EntryRef> {
    const other = (await this.admins()).find((admin) => admin !== login);
    if (other === undefined) throw new Refusal('last_admin', `${quoted(login)} is the last administrator`);
    return refs.admin(other);
  }

  async #sources(): Promise<string[]> {
    const names: string[] = [];
    for await (const { key } of allEntries(this.#store, 'source', [])) names.push(lastOf(key));
    return names;
  }

  async #require(login: string): Promise<Entry> {
    const entry = await this.#store.readEntry(refs.user(login));
    if (entry === null) throw new Refusal('user_not_found', `there is no user ${quoted(login)}`);
    return entry;
  }

  async #view(login: string, record: UserRecord): Promise<UserView> {
    return viewOf(login, record, (await clientsOf(this.#store, login)).length);
  }
}

function viewOf(login: string, record: UserRecord, clients: number): UserView {
  const { attributes, identity = null, createdAtMs, updatedAtMs } = record;
  return { login, attributes, clients, identity, created_at: isoTime(createdAtMs), updated_at: isoTime(updatedAtMs) };
}

function userExists(login: string): Refusal {
  return new Refusal('user_exists', `there is already a user ${quoted(login)}`);
}
