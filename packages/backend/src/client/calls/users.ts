import type {
  ChangedUser,
  Client,
  ClientFiles,
  ClientList,
  ClientSync,
  Deleted,
  EndedSessions,
  Explanation,
  Invite,
  JsonValue,
  NamedClient,
  Page,
  PingReport,
  User,
  UserList,
  WipeOrder,
} from '@tidemark/protocol';
import { path } from '../../transport/path.ts';
import type { CallOptions, Transport } from '../../transport/transport.ts';
import { everyItem, type PageOptions, pageQuery } from '../paging.ts';

export interface NewUser {
  readonly login: string;
  readonly password: string;
  readonly [attribute: string]: JsonValue;
}

export type UserChanges = { readonly [attribute: string]: JsonValue };

/** A push message for all devices of some users. */
export interface Ping {
  readonly user_id: string | readonly string[];
  /** The sources that the devices should sync. */
  readonly sources?: string | readonly string[];
  readonly message?: string;
  readonly badge?: number | string;
  readonly sound?: string;
  /** Seconds. */
  readonly vibrate?: number;
  /** True: devices that have acknowledged the newest state of all `sources` are skipped. */
  readonly only_behind?: boolean;
}

interface InviteTerms {
  readonly expiresInS?: number;
  readonly keepEarlier?: boolean;
}

/** Which users to list. */
export interface UserFilter extends PageOptions {
  /** Only users whose login, groups or attributes contain the text. */
  readonly text?: string;
  readonly group?: string;
  /** True: only users whose devices miss changes. */
  readonly behind?: boolean;
  readonly notSeenDays?: number;
  /** Only users who were created in the last so many days. */
  readonly createdDays?: number;
  readonly hasDevices?: boolean;
}

/** Users, their devices, and pings to them. */
export class UserCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  create(user: NewUser, options?: CallOptions): Promise<User> {
    return this.#api.post('/rc/v1/users', { attributes: user }, 'harmful', options);
  }

  /** One page of logins, sorted. */
  list(page: PageOptions = {}): Promise<readonly string[]> {
    return this.#api.get('/rc/v1/users', page, pageQuery(page));
  }

  /** All logins, fetched as they are asked for. */
  every(options?: CallOptions): AsyncGenerator<string, void> {
    return everyItem(
      (page) => this.list(page),
      (login) => login,
      options,
    );
  }

  /**
   * One page of users with their devices, groups, last contact and how far they are behind. With filters it may be short or
   * empty; `next` is `after` of the next page.
   */
  details({ text, group, behind, notSeenDays, createdDays, hasDevices, ...page }: UserFilter = {}): Promise<UserList> {
    const filter = { text, group, behind, not_seen_days: notSeenDays, created_days: createdDays };
    return this.#api.get('/rc/v1/user_details', page, { ...pageQuery(page), ...filter, has_devices: hasDevices });
  }

  get(login: string, options?: CallOptions): Promise<User> {
    return this.#api.get(path`/rc/v1/users/${login}`, options);
  }

  /**
   * Makes a code with which a device of the user signs in once, without a password. It counts for a day unless
   * `expiresInS` says otherwise, and ends the code before; with `keepEarlier` only one that was made with it.
   */
  invite(login: string, { expiresInS, keepEarlier, ...options }: CallOptions & InviteTerms = {}) {
    const body = {
      ...(expiresInS === undefined ? {} : { expires_in_s: expiresInS }),
      ...(keepEarlier === undefined ? {} : { keep_earlier: keepEarlier }),
    };
    return this.#api.post<Invite>(path`/rc/v1/users/${login}/invite`, body, 'harmful', options);
  }

  /**
   * Sets the given attributes. `password` sets the password and revokes all tokens of the user, except the named tokens of
   * an administrator, which `kept_tokens` of the answer lists. `revokeTokens` revokes those, too.
   */
  update(
    login: string,
    attributes: UserChanges,
    { revokeTokens, ...options }: CallOptions & { readonly revokeTokens?: boolean } = {},
  ): Promise<ChangedUser> {
    const body = { attributes, ...(revokeTokens === undefined ? {} : { revoke_tokens: revokeTokens }) };
    return this.#api.put(path`/rc/v1/users/${login}`, body, options);
  }

  /** Deletes the user with all devices, documents and tokens. */
  delete(login: string, options?: CallOptions): Promise<Deleted> {
    return this.#api.delete(path`/rc/v1/users/${login}`, options);
  }

  /** The ids of the user's devices. */
  clients(login: string, options?: CallOptions): Promise<readonly string[]> {
    return this.#api.get(path`/rc/v1/users/${login}/clients`, options);
  }

  deleteClient(login: string, client: string, options?: CallOptions): Promise<Deleted> {
    return this.#api.delete(path`/rc/v1/users/${login}/clients/${client}`, options);
  }

  ping(ping: Ping, options?: CallOptions): Promise<PingReport> {
    return this.#api.post('/rc/v1/users/ping', ping, 'harmful', options);
  }
}

export interface GroupOptions extends CallOptions {
  /** The group, for a source whose data belongs to groups. */
  readonly group?: string;
}

/** Which devices to list. */
export interface ClientFilter extends PageOptions {
  /** Only devices whose id, user, label, name, platform, system or app contains the text. */
  readonly text?: string;
  readonly user?: string;
  /** True: only devices that miss changes. */
  readonly behind?: boolean;
  readonly online?: boolean;
  readonly notSeenDays?: number;
  readonly appVersionBelow?: string;
}

/** Devices. `Users` lists the ids of the devices of a user, and deletes devices. */
export class ClientCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  /**
   * One page of the devices of all users, by user and id. With filters it may be short or empty; `next` is `after` of the
   * next page.
   */
  list({ text, user, behind, online, notSeenDays, appVersionBelow, ...page }: ClientFilter = {}): Promise<ClientList> {
    const filter = { text, user_id: user, behind, online, not_seen_days: notSeenDays };
    return this.#api.get('/rc/v1/clients', page, {
      ...pageQuery(page),
      ...filter,
      app_version_below: appVersionBelow,
    });
  }

  /** What people know these devices by. Unknown ids are left out. */
  names(clients: readonly string[], options?: CallOptions): Promise<readonly NamedClient[]> {
    return this.#api.get('/rc/v1/client_names', options, { client_ids: JSON.stringify(clients) });
  }

  /** Sets what administrators call the device; null: nothing. */
  setLabel(client: string, label: string | null, options?: CallOptions): Promise<Client> {
    return this.#api.put(path`/rc/v1/clients/${client}`, { label }, options);
  }

  /** Revokes all tokens of the device. It keeps its data, and goes on when its user has signed in again. */
  endSessions(client: string, options?: CallOptions): Promise<EndedSessions> {
    return this.#api.delete(path`/rc/v1/clients/${client}/sessions`, options);
  }

  get(client: string, options?: CallOptions): Promise<Client> {
    return this.#api.get(path`/rc/v1/clients/${client}`, options);
  }

  /**
   * Orders the device to erase itself at its next call. The state of the order is `wipe` of the device. Repeating the call
   * changes nothing; an order cannot be taken back.
   */
  wipe(client: string, options?: CallOptions): Promise<WipeOrder> {
    return this.#api.post(path`/rc/v1/clients/${client}/wipe`, {}, 'harmless', options);
  }

  /** Whether the device is connected now, and how far it is with each source. */
  sync(client: string, options?: CallOptions): Promise<ClientSync> {
    return this.#api.get(path`/rc/v1/clients/${client}/sync`, options);
  }

  /** The files that are still only on the device. */
  files(client: string, options?: CallOptions): Promise<ClientFiles> {
    return this.#api.get(path`/rc/v1/clients/${client}/files`, options);
  }

  /** The page that the device gets next. */
  pending(client: string, source: string, { group, ...options }: GroupOptions = {}): Promise<Page> {
    return this.#api.get(path`/rc/v1/clients/${client}/sources/${source}/pending`, options, { group });
  }

  /** Why the device holds an object, or does not. */
  explain(
    client: string,
    source: string,
    object: string,
    { group, ...options }: GroupOptions = {},
  ): Promise<Explanation> {
    const where = path`/rc/v1/clients/${client}/sources/${source}/objects/${object}/explain`;
    return this.#api.get(where, options, { group });
  }
}
