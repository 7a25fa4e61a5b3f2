import { GROUP_MEMBER, REFRESH } from '../admission/refuse-gone.ts';
import { ownerText, partitionParts } from '../ports/owner.ts';
import type { EntryRef, PartitionKey } from '../ports/store.ts';

/** First parts of keys, for listings. */
export const REFRESH_AT = 'refresh_at';
export const NOTICED = 'noticed';
export const MEMBERSHIP = 'partition';
export const MEMBER = 'member';
const GROUPS = 'groups';
export const CONNECTOR = 'connector';
export const REMEMBERED_LOGIN = 'login';
export const LOGIN_OF = 'login_of';
export const ENDED_TOKEN = 'ended_token';
export const INVITE = 'invite';

/** Kinds that own other entries, which are deleted with them. */
export type OwnerKind = 'user' | 'client' | 'source';

function ofPartition(what: string, { source, owner }: PartitionKey): EntryRef {
  const text = ownerText(owner);
  return { kind: 'setting', key: text === null ? [what, source] : [what, source, text] };
}

/** The keys of all entries. A key is a tuple, so different names never form the same key. */
export const refs = {
  user: (login: string): EntryRef => ({ kind: 'user', key: [login] }),
  client: (id: string): EntryRef => ({ kind: 'client', key: [id] }),
  /** Written once when the device is registered: its version is the same until the device or its user is deleted. */
  userClient: (login: string, id: string): EntryRef => ({ kind: 'user_client', key: [login, id] }),
  source: (name: string): EntryRef => ({ kind: 'source', key: [name] }),
  token: (hash: string): EntryRef => ({ kind: 'token', key: [hash] }),
  userToken: (login: string, hash: string): EntryRef => ({ kind: 'user_token', key: [login, hash] }),

  /**
   * Written when the user is created and deleted with the user, so its version is the generation of the user. Work begun for one
   * user is not finished for a later user of the same login.
   */
  generation: (login: string): EntryRef => ({ kind: 'setting', key: ['life', login] }),
  /** Exists while the user is an administrator, so that guards can refer to it. */
  admin: (login: string): EntryRef => ({ kind: 'setting', key: ['admin', login] }),
  /**
   * Rewritten by every call that adds an entry to an owner. A deletion of the owner reads its version before it lists the
   * entries and expects it when it writes, so it misses none. Calls that add entries never conflict with each other.
   */
  ownerVersion: (kind: OwnerKind, name: string): EntryRef => ({ kind: 'setting', key: ['roster', kind, name] }),
  /** When the partition is due for a refresh. */
  refreshAt: (partition: PartitionKey): EntryRef => ofPartition(REFRESH_AT, partition),
  /** The last push notice about the partition. */
  noticed: (partition: PartitionKey): EntryRef => ofPartition(NOTICED, partition),
  /** The counts of a ping, and its result on each device. */
  ping: (id: string): EntryRef => ({ kind: 'ping', key: [id] }),
  pingResult: (id: string, client: string): EntryRef => ({ kind: 'ping_result', key: [id, client] }),
  /** The refresh state of a partition, with the lease of the server that refreshes it. */
  refresh: (partition: PartitionKey): EntryRef => ofPartition(REFRESH, partition),
  /** The groups of a source that the user is in by the last answer of its adapter, and the earlier ones. */
  membership: (source: string, login: string): EntryRef => ({ kind: 'setting', key: [MEMBERSHIP, source, login] }),
  /** Exists while the user is in the group of the source; used to list its members. */
  member: (source: string, group: string, login: string): EntryRef => ({
    kind: 'setting',
    key: [MEMBER, source, group, login],
  }),
  /** The groups of a user, and the index from groups to users. */
  groups: (login: string): EntryRef => ({ kind: 'setting', key: [GROUPS, login] }),
  groupMember: (group: string, login: string): EntryRef => ({ kind: 'setting', key: [GROUP_MEMBER, group, login] }),
  /** A login that the backend has confirmed, and the index by its user. */
  rememberedLogin: (login: string): EntryRef => ({ kind: 'setting', key: [REMEMBERED_LOGIN, login] }),
  loginOf: (user: string, login: string): EntryRef => ({ kind: 'setting', key: [LOGIN_OF, user, login] }),
  /** The login of the user of an identity, which is given as a hash of issuer and subject. */
  identity: (hash: string): EntryRef => ({ kind: 'setting', key: ['identity', hash] }),
  /** An invite by the hash of its code, and the hash by the user. */
  invite: (hash: string): EntryRef => ({ kind: 'setting', key: [INVITE, hash] }),
  inviteOf: (login: string): EntryRef => ({ kind: 'setting', key: ['invite_of', login] }),
  /** The hash of an invite that was made beside another, by the user. */
  secondInviteOf: (login: string): EntryRef => ({ kind: 'setting', key: ['second_invite_of', login] }),
  /** Why the token of this hash has ended. */
  endedToken: (hash: string): EntryRef => ({ kind: 'setting', key: [ENDED_TOKEN, hash] }),
  /** The lease of the server that does a task only one server needs to do. */
  lease: (name: string): EntryRef => ({ kind: 'setting', key: ['lease', name] }),
  /** The last report of a connector. */
  connector: (name: string): EntryRef => ({ kind: 'setting', key: [CONNECTOR, name] }),
  /** What is known of a file. */
  file: (sha256: string): EntryRef => ({ kind: 'file', key: [sha256] }),
  /** Who has referred to a file in a partition; no login means the backend. */
  fileClaim: (sha256: string, partition: PartitionKey, login: string | null): EntryRef => ({
    kind: 'file_claim',
    key: [sha256, ...partitionParts(partition), ...(login === null ? [] : [login])],
  }),
  /** Who has sent the bytes of a file; no login means the backend. */
  fileSender: (sha256: string, login: string | null): EntryRef => ({
    kind: 'file_sender',
    key: login === null ? [sha256] : [sha256, login],
  }),
  /** Exists while an object refers to a file whose bytes are not here, ordered by since when. */
  fileMissing: (sinceMs: number, sha256: string): EntryRef => ({
    kind: 'file_missing',
    key: [String(sinceMs).padStart(15, '0'), sha256],
  }),
  /** The same for a device that has referred to the file, and for a partition that refers to it. */
  fileWaiting: (whose: readonly string[], sinceMs: number, sha256: string): EntryRef => ({
    kind: 'file_waiting',
    key: [...whose, String(sinceMs).padStart(15, '0'), sha256],
  }),
  /** How many bytes of stored files a user has sent, or, without a user, all have. */
  fileUsage: (login: string | null): EntryRef => ({ kind: 'file_usage', key: login === null ? [] : [login] }),
  /** The place where the bytes of files are kept. */
  filePlace: { kind: 'setting', key: ['file_place'] } as EntryRef,
  setting: (name: 'adapter_url' | 'license' | 'vapid' | 'backend_secret'): EntryRef => ({
    kind: 'setting',
    key: [name],
  }),
} as const;

/** The value of entries of which only existence or version matters. */
export const PRESENT = 'true';
