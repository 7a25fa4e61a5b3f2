import { REFRESH } from '../admission/refuse-gone.ts';
import type { EntryRef, PartitionKey } from '../ports/store.ts';

/** The first parts of keys that are listed. */
export const REFRESH_AT = 'refresh_at';
export const NOTICED = 'noticed';
export const MEMBERSHIP = 'partition';
export const MEMBER = 'member';
export const REMEMBERED_LOGIN = 'login';
export const LOGIN_OF = 'login_of';

/** What can own other entries, and therefore must find all of them when it goes. */
export type OwnerKind = 'user' | 'client' | 'source';

/** Where everything of the registry stands. Keys are tuples, so no two names ever meet in one key. */
export const refs = {
  user: (login: string): EntryRef => ({ kind: 'user', key: [login] }),
  client: (id: string): EntryRef => ({ kind: 'client', key: [id] }),
  /** Written once when the device is registered: its version is the same until the device or its user is deleted. */
  userClient: (login: string, id: string): EntryRef => ({ kind: 'user_client', key: [login, id] }),
  source: (name: string): EntryRef => ({ kind: 'source', key: [name] }),
  token: (hash: string): EntryRef => ({ kind: 'token', key: [hash] }),
  userToken: (login: string, hash: string): EntryRef => ({ kind: 'user_token', key: [login, hash] }),

  /**
   * Written once when the user is made, and gone with the user: its version is the same for as long as this user lives
   * and never again. Whatever was begun for one user is not finished for the next one of the same login.
   */
  life: (login: string): EntryRef => ({ kind: 'setting', key: ['life', login] }),
  /** Exists exactly while the user is an administrator: something a guard can stand on. */
  admin: (login: string): EntryRef => ({ kind: 'setting', key: ['admin', login] }),
  /**
   * Rewritten, without a look, by everybody who adds something to an owner. Whoever removes an owner reads its version
   * first and expects it last, and so knows that nothing was added while the list was made. Adding never collides.
   */
  ownerVersion: (kind: OwnerKind, name: string): EntryRef => ({ kind: 'setting', key: ['roster', kind, name] }),
  /** When the partition is due for a refresh. */
  refreshAt: ({ source, user }: PartitionKey): EntryRef => ({
    kind: 'setting',
    key: user === null ? [REFRESH_AT, source] : [REFRESH_AT, source, user],
  }),
  /** What the users of the partition were last told of changes in it. */
  noticed: ({ source, user }: PartitionKey): EntryRef => ({
    kind: 'setting',
    key: user === null ? [NOTICED, source] : [NOTICED, source, user],
  }),
  /** What became of a ping as a whole, and on each of its devices. */
  ping: (id: string): EntryRef => ({ kind: 'ping', key: [id] }),
  pingResult: (id: string, client: string): EntryRef => ({ kind: 'ping_result', key: [id, client] }),
  /** How the refresh of a partition stands, and who has it to itself at this moment. */
  refresh: ({ source, user }: PartitionKey): EntryRef => ({
    kind: 'setting',
    key: user === null ? [REFRESH, source] : [REFRESH, source, user],
  }),
  /** In which partition of a source the user was last seen, and in which before. */
  membership: (source: string, login: string): EntryRef => ({ kind: 'setting', key: [MEMBERSHIP, source, login] }),
  /** Exists while the user is in the custom partition: the way back. */
  member: (source: string, partition: string, login: string): EntryRef => ({
    kind: 'setting',
    key: [MEMBER, source, partition, login],
  }),
  /** A login the backend has vouched for, where that is remembered; and the way back from its user. */
  rememberedLogin: (login: string): EntryRef => ({ kind: 'setting', key: [REMEMBERED_LOGIN, login] }),
  loginOf: (user: string, login: string): EntryRef => ({ kind: 'setting', key: [LOGIN_OF, user, login] }),
  /** Which server does what one of them is enough for. */
  lease: (name: string): EntryRef => ({ kind: 'setting', key: ['lease', name] }),
  setting: (name: 'adapter_url' | 'license' | 'vapid' | 'backend_secret'): EntryRef => ({
    kind: 'setting',
    key: [name],
  }),
} as const;

/** The value of entries whose existence or version is all they have to say. */
export const PRESENT = 'true';
