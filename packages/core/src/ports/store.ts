/**
 * The store: partitions with their journals, named documents, the registry, tidemarks and statistics.
 *
 * What every engine promises:
 * - Every writing call is one atomic step. It is applied whole or not at all, whatever dies in between.
 * - When a writing call's promise resolves, the write is durable (unless `engine.durability` says otherwise), and every
 *   read that starts afterwards sees it. No read ever sees a write that a crash could still take back.
 * - Each read answers from one moment; two reads may answer from two.
 * - Names arrive as tuples of strings. Engines must keep different tuples apart whatever the strings contain.
 * - Records and values are texts the engine never interprets.
 * - Callers pass what admission has let in; an engine that meets anything else throws, it does not guess.
 * - An engine that cannot serve rejects with the refusal `store_unavailable`, a full disk with `store_full`.
 */
export interface Store {
  readonly engine: EngineDescription;

  /** The word for this life of the store. Reset and restore begin a new life. */
  epoch(): Promise<string>;

  // Partitions and their journals

  partition(key: PartitionKey): Promise<PartitionState>;
  /** The size of that state alone, which is less to look up. */
  size(key: PartitionKey): Promise<number>;
  /** Looks up objects, live or deleted. Ids the partition does not know are missing from the answer. */
  readObjects(key: PartitionKey, ids: readonly string[]): Promise<ObjectsRead>;
  readJournal(key: PartitionKey, range: JournalRange): Promise<JournalSlice>;
  /** The same stretch for whoever wants its records only joined; `joinedSlice` does, where that costs no less. */
  readJoined(key: PartitionKey, range: JournalRange): Promise<JoinedSlice>;
  commit(commit: Commit): Promise<CommitResult>;
  /**
   * Forgets tombstones with seq ≤ `upTo` (at most head) and raises the floor accordingly. One call does a bounded
   * amount of work: the floor in the answer says how far it came.
   */
  trim(key: PartitionKey, upTo: number): Promise<PartitionState>;
  /** Partitions that were ever written to, in a stable order; `after` is the last one of the previous listing. */
  partitions(list: { readonly after?: PartitionKey; readonly limit: number }): Promise<readonly PartitionKey[]>;

  // Named documents

  /** The whole document, or only the parts with the given keys. Null when there is no such document. */
  readDocument(key: DocumentKey, parts?: readonly string[]): Promise<StoredDocument | null>;
  writeDocument(write: DocumentWrite): Promise<WriteResult>;
  /** Names of the documents of a scope, sorted. */
  documentNames(scope: DocumentScope): Promise<readonly string[]>;

  // The registry: small entries, changed together or not at all

  readEntry(ref: EntryRef): Promise<Entry | null>;
  /** Entries of a kind whose key begins with `prefix`, ordered by key; `after` is the last key of the previous listing. */
  listEntries(list: EntryList): Promise<readonly Entry[]>;
  countEntries(kind: EntryKind): Promise<number>;
  writeEntries(batch: EntryBatch): Promise<WriteResult>;

  // Tidemarks: the last token each device presented, by partition

  readTidemark(key: PartitionKey, client: string): Promise<DeviceTidemark | null>;
  listTidemarks(
    key: PartitionKey,
    list: { readonly after?: string; readonly limit: number },
  ): Promise<readonly DeviceTidemark[]>;
  /** A partition that was never written to has nothing to trim, so it keeps no tidemarks: the note is dropped. */
  noteTidemark(key: PartitionKey, mark: DeviceTidemark, guards: readonly Guard[]): Promise<WriteResult>;

  // Notes: what is remembered of a device's uploads to a partition

  /** Returns the notes named by `refs` that exist. */
  readNotes(key: PartitionKey, client: string, refs: readonly NoteRef[]): Promise<readonly Note[]>;
  /** Notes of one kind in the order of their keys; `after` is the last key of the previous listing. */
  listNotes(key: PartitionKey, client: string, list: NoteList): Promise<readonly Note[]>;

  // Statistics

  /** Merges rows into what is there: counts and sums add up, extremes widen. */
  addStats(rows: readonly StatRow[]): Promise<void>;
  /** Rows of a metric, `limit` of them counted from the given end; always answered oldest first. */
  readStats(metric: string, from: 'oldest' | 'newest', limit: number): Promise<readonly StatRow[]>;
  /** Every metric that has rows, sorted. */
  statNames(): Promise<readonly string[]>;
  /** Forgets rows older than `beforeS`, a bounded number per call; answers how many went. */
  trimStats(beforeS: number): Promise<number>;

  // Life

  /** Empties everything except the entries named, and begins a new life. Answers its epoch. */
  reset(keep: readonly EntryRef[]): Promise<string>;
  /** Copies a consistent state to a new folder while work goes on. Whoever opens the copy begins a new life. */
  backup(folder: string): Promise<void>;
  /** Recomputes from the records all that is kept beside them, and names every difference. */
  verify(reader: RecordReader): AsyncIterable<Finding>;
  /** Finishes the writes under way, then lets go of everything. */
  close(): Promise<void>;
}

export interface EngineDescription {
  readonly name: string;
  /**
   * `durable`: flushed to disk before a write is acknowledged. `buffered`: acknowledged before it is flushed, so that a
   * crash can take back the last ones. `memory`: gone with the process.
   */
  readonly durability: 'durable' | 'buffered' | 'memory';
  /** How that was found out, for operators. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
  /** What an operator should change. */
  readonly warnings?: readonly string[];
}

/**
 * Source × user, or source × shared when `user` is null. Of a custom partition, `user` is a text that is no login, and
 * to the store a user like any other (`admission/custom-partition.ts`).
 */
export interface PartitionKey {
  readonly source: string;
  readonly user: string | null;
}

export interface PartitionState {
  /**
   * Begins with the store's epoch, and is nothing else while the partition was never written to. Changes when either
   * begins a new life.
   */
  readonly epoch: string;
  /** The newest seq; 0 when nothing was ever written. */
  readonly head: number;
  /** Tombstones with seq ≤ floor have been forgotten. */
  readonly floor: number;
  /** Live objects. */
  readonly size: number;
  /** Sum of the checksums of all live objects. */
  readonly checksum: number;
  /**
   * Epochs of the same life from before moments at which acknowledged writes may have been lost. What was known under
   * one of them up to its seq is still true; anything beyond may have become something else.
   */
  readonly earlier?: readonly EarlierEpoch[];
}

export interface EarlierEpoch {
  readonly epoch: string;
  readonly upTo: number;
}

export interface StoredObject {
  /** Where it stands in the journal. */
  readonly seq: number;
  /** Null: a tombstone. */
  readonly record: string | null;
}

export interface ObjectsRead {
  readonly state: PartitionState;
  readonly objects: ReadonlyMap<string, StoredObject>;
}

export interface JournalRange {
  /** Records with seq above this. */
  readonly after: number;
  /** Tombstones with seq above this (and above `after`). A reader who starts over skips the old ones at no cost. */
  readonly gravesAfter: number;
  /** Records and tombstones together, ≥ 1. */
  readonly entriesMax: number;
  /** Text of records and ids together; the first entry is always given. */
  readonly unitsMax: number;
}

/** A stretch of the journal, ascending, without gaps: everything that stands in (after, upTo]. */
export interface JournalSlice {
  readonly state: PartitionState;
  readonly records: readonly string[];
  /** The seq of each record. */
  readonly seqs: readonly number[];
  /** Ids of tombstones. */
  readonly graves: readonly string[];
  /** The end of the stretch: `state.head` when nothing more follows. */
  readonly upTo: number;
}

/** A slice with its records in one piece. */
export interface JoinedSlice extends Omit<JournalSlice, 'records' | 'seqs'> {
  readonly count: number;
  /** As UTF-8, with commas in between. The store never writes to these bytes again: a page may be sent from them. */
  readonly records: Uint8Array;
  /** True: no line feed stands in them. Otherwise nobody has looked. */
  readonly isOneLine?: boolean;
}

export interface Change {
  readonly id: string;
  /** Null deletes; deleting what is not live does nothing and takes no seq. */
  readonly record: string | null;
  /** The checksum of the new record; 0 for a deletion. */
  readonly checksum: number;
  /** The seq the object must stand at, tombstones included; 0: unknown to the partition. Not checked when absent. */
  readonly expect?: number;
}

/**
 * Every change takes the next seq, in the given order; the object leaves its old place in the journal. Size, checksum
 * and head follow. An id stands at most once in a commit. A commit without changes moves nothing.
 */
export interface Commit {
  readonly partition: PartitionKey;
  readonly changes: readonly Change[];
  /** The head the partition must have. Not checked when absent. */
  readonly expectHead?: number;
  /**
   * Objects that are left alone because of what they are, and must still stand where they were seen. Without them, two
   * writes that each leave alone what the other changes would both be half done.
   */
  readonly kept?: readonly Kept[];
  /**
   * The state in which the expectations were first seen to hold. Another epoch is a conflict: seqs of another life mean
   * nothing. While the head is the same, too, an engine may take the expectations for granted.
   */
  readonly seen?: Pick<PartitionState, 'epoch' | 'head'>;
  /**
   * Bytes that the records of the live objects of the partition may have, as UTF-8. A commit that would exceed it is
   * refused whole, unless it makes the partition smaller. Absent: any number.
   */
  readonly bytesMax?: number;
  /** Notes of a device, written in the same step, whether or not there are changes. */
  readonly notes?: NotesWrite;
  /** Only while all of these exist. */
  readonly guards: readonly Guard[];
}

/**
 * What becomes of a device's notes on a partition. They live with the partition, also with one whose journal was never
 * written to, and go with the device, the user or the source.
 */
export interface NotesWrite {
  readonly client: string;
  /** A kind and key stands at most once. */
  readonly writes: readonly NoteWrite[];
  /** Notes of this device on this partition that have ended by now go in the same step, a bounded number of them. */
  readonly nowMs: number;
}

/**
 * outcome [op id]: told to the device until it has acknowledged · settled [op id]: an outcome it has acknowledged, kept
 * so that a late repetition has no effect · upload [op id]: the upload itself, while its job waits · link [temporary id] ·
 * footprint [object id]: what the device wrote there itself
 */
export type NoteKind = 'outcome' | 'settled' | 'upload' | 'link' | 'footprint';

export interface NoteRef {
  readonly kind: NoteKind;
  readonly key: string;
}

export interface Note extends NoteRef {
  readonly text: string;
}

export interface NoteWrite extends NoteRef {
  /** Null removes. */
  readonly text: string | null;
  /** The text the note must have; null: there must be none. Otherwise the commit is a conflict. Not checked when absent. */
  readonly expect?: string | null;
  /** When it may be forgotten. Absent: never by itself. */
  readonly endsAtMs?: number;
}

export interface NoteList {
  readonly kind: NoteKind;
  readonly after?: string;
  readonly limit: number;
}

export type Kept = Required<Pick<Change, 'id' | 'expect'>>;

export type CommitResult =
  | { readonly status: 'committed'; readonly state: PartitionState }
  | { readonly status: 'conflict' }
  /** It would exceed `bytesMax`. */
  | { readonly status: 'too_large' }
  | { readonly status: 'gone'; readonly guard: Guard };

export type WriteResult =
  | { readonly status: 'written' }
  | { readonly status: 'conflict' }
  | { readonly status: 'gone'; readonly guard: Guard };

export type DocumentScope =
  | { readonly kind: 'server' }
  | { readonly kind: 'shared'; readonly source: string }
  | { readonly kind: 'user'; readonly source: string; readonly user: string }
  | { readonly kind: 'client'; readonly source: string; readonly client: string };

export interface DocumentKey {
  readonly scope: DocumentScope;
  readonly name: string;
}

/**
 * A document is kept in parts, so that appending costs what is appended. A `text` is the concatenation of its parts in
 * the order of their keys; of `objects`, each part is one object: key = id, text = its attributes as a JSON object.
 */
export interface StoredDocument {
  readonly type: DocumentType;
  readonly version: number;
  /** How many parts there are, and how many UTF-16 units of text, however many were asked for. */
  readonly partCount: number;
  readonly units: number;
  readonly parts: ReadonlyMap<string, string>;
}

export type DocumentType = 'text' | 'objects';

export interface DocumentWrite {
  readonly key: DocumentKey;
  readonly type: DocumentType;
  /**
   * True: the parts given become all there is. False: they are added to, or replace, those with the same key; added to
   * a document of the other type, they are a conflict.
   */
  readonly replace: boolean;
  readonly parts: ReadonlyMap<string, string>;
  /** The version the document must have; 0: it must not exist. Not checked when absent. */
  readonly expect?: number;
  readonly guards: readonly Guard[];
}

/**
 * user [login] · client [client id] · user_client [login, client id] · source [name] · token [hash] ·
 * user_token [login, hash] · setting [name] · audit [moment] · ping [ping id] · ping_result [ping id, client id]
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
  | 'ping_result';

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
  /** Different for every write there ever was to this key, also across deletions. */
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
  /** The version the entry must have; 0: it must not exist. Not checked when absent. */
  readonly expect?: number;
}

export interface EntryBatch {
  readonly writes: readonly EntryWrite[];
  readonly guards: readonly Guard[];
  readonly erase?: Erasure;
}

/**
 * What goes with the entries, in the same step. Users: their partitions, with journal, tidemarks and notes, and their
 * documents. Clients: their tidemarks, notes and documents. Sources: all partitions, tidemarks, notes and documents.
 * Shared data never goes with a user or a client.
 */
export interface Erasure {
  readonly users?: readonly string[];
  readonly clients?: readonly string[];
  readonly sources?: readonly string[];
}

export interface DeviceTidemark {
  readonly client: string;
  readonly epoch: string;
  /** How far the device's pages went. */
  readonly seq: number;
  /** The head at its last complete catch-up; null while it starts over. */
  readonly base: number | null;
  /** The head at which starting over began; null when it has a base. */
  readonly start: number | null;
  readonly seenAtMs: number;
}

export interface StatRow {
  readonly metric: string;
  /** Begin of the resolution step, in seconds. */
  readonly atS: number;
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

/** How `verify` reads a record; a record it cannot read makes it throw. */
export type RecordReader = (record: string) => { readonly id: string; readonly checksum: number };

export interface Finding {
  /** Null: it concerns the store as a whole. */
  readonly partition: PartitionKey | null;
  readonly problem:
    | 'unreadable'
    | 'wrong_size'
    | 'wrong_checksum'
    | 'wrong_object_checksum'
    | 'seq_beyond_head'
    | 'grave_below_floor'
    | 'missing_from_index'
    | 'missing_from_journal'
    | 'orphan';
  readonly detail: string;
}
