/** Entries: users, devices, sources, tokens, settings and other small records. A batch is written whole or not at all. */
export interface EntryStore {
  readEntry(ref: EntryRef): Promise<Entry | null>;
  /** Entries of a kind whose key begins with `prefix`, ordered by key; `after` is the last key of the previous listing. */
  listEntries(list: EntryList): Promise<readonly Entry[]>;
  /** Counts the entries of a kind whose key begins with `prefix`; without one, all of the kind. */
  countEntries(kind: EntryKind, prefix?: readonly string[]): Promise<number>;
  writeEntries(batch: EntryBatch): Promise<WriteResult>;
}

/**
 * user [login] · client [client id] · user_client [login, client id] · source [name] · token [hash] ·
 * user_token [login, hash] · setting [name] · audit [moment] · ping [ping id] · ping_result [ping id, client id] ·
 * activity [moment and server] · file [hash] · file_claim [hash, …partition, login or nothing] ·
 * file_sender [hash, login or nothing] · file_missing [since, hash] ·
 * file_waiting ['client', client id, since, hash] or […partition, since, hash] · file_usage [login or nothing]
 */
export type EntryKind =
  | 'user'
  | 'client'
  | 'user_client'
  | 'source'
  | 'token'
  | 'user_token'
  | 'setting'
  | 'audit'
  | 'ping'
  | 'ping_result'
  | 'activity'
  | 'file'
  | 'file_claim'
  | 'file_sender'
  | 'file_missing'
  | 'file_waiting'
  | 'file_usage';

export interface EntryRef {
  readonly kind: EntryKind;
  readonly key: readonly string[];
}

/** An entry that must exist for something to be written. */
export interface Guard extends EntryRef {
  /** The version it must have. Absent: any. */
  readonly version?: number;
}

export interface Entry {
  readonly key: readonly string[];
  readonly value: string;
  /** Different for every write to this key, also across deletions. */
  readonly version: number;
}

export interface EntryList {
  readonly kind: EntryKind;
  readonly prefix: readonly string[];
  readonly after?: readonly string[];
  readonly limit: number;
}

export interface EntryWrite extends EntryRef {
  /** Null removes. */
  readonly value: string | null;
  /** The version the entry must have; 0: it must not exist. Absent: not checked. */
  readonly expect?: number;
}

export interface EntryBatch {
  readonly writes: readonly EntryWrite[];
  readonly guards: readonly Guard[];
  readonly erase?: Erasure;
}

/**
 * Data that is deleted in the same step. Users: their partitions, with journal, tidemarks and notes, and their documents.
 * Clients: their tidemarks, notes and documents. Sources: all partitions, tidemarks, notes and documents. Shared data is
 * never deleted with a user or a client.
 */
export interface Erasure {
  readonly users?: readonly string[];
  readonly clients?: readonly string[];
  readonly sources?: readonly string[];
}

export type WriteResult =
  | { readonly status: 'written' }
  | { readonly status: 'conflict' }
  | { readonly status: 'gone'; readonly guard: Guard };
