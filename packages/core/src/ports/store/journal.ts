import type { CommitInterval } from '../commit-times.ts';
import type { Owner, PartitionKey } from '../owner.ts';
import type { Guard } from './entries.ts';
import type { NotesWrite } from './notes.ts';
import type { PartitionState } from './partition.ts';

/** Partitions and their journals. */
export interface JournalStore {
  partition(key: PartitionKey): Promise<PartitionState>;
  /** Returns only the size, which costs less. */
  size(key: PartitionKey): Promise<number>;
  /** The bytes that `bytesMax` bounds: of the live records, and `keptBytes` of every tombstone and of every note. */
  bytes(key: PartitionKey): Promise<number>;
  /** Looks up objects, live or deleted. Ids the partition does not know are missing from the answer. */
  readObjects(key: PartitionKey, ids: readonly string[]): Promise<ObjectsRead>;
  readJournal(key: PartitionKey, range: JournalRange): Promise<JournalSlice>;
  /** The same slice with its records joined. Engines that cannot do this faster use `joinedSlice`. */
  readJoined(key: PartitionKey, range: JournalRange): Promise<JoinedSlice>;
  /** Counts the live records with seq in (after, upTo], which costs less than reading them. */
  countRecords(key: PartitionKey, range: SeqRange): Promise<RecordCount>;
  commit(commit: Commit): Promise<CommitResult>;
  /**
   * Deletes tombstones with seq ≤ `upTo` (at most head) and raises the floor. One call does a bounded amount of work; the
   * floor in the result says how far it got.
   */
  trim(key: PartitionKey, upTo: number): Promise<PartitionState>;
  /** When the changes of a partition were committed, in the order of their seqs. Changes before the first are of unknown age. */
  commitTimes(key: PartitionKey): Promise<readonly CommitInterval[]>;
  /** Partitions that were ever written to, in a stable order; `after` is the last one of the previous listing. */
  partitions(list: { readonly after?: PartitionKey; readonly limit: number }): Promise<readonly PartitionKey[]>;
  /**
   * Tells which partitions of groups of a source got a commit after a mark. Erasures are not told: whoever
   * keeps a mark must know by itself whether the source was deleted meanwhile. Null: this store does not keep the order of
   * commits across partitions.
   */
  changedSince(query: ChangedQuery): Promise<ChangedRead | null>;
}

export interface ChangedQuery {
  readonly source: string;
  /** The owners of the partitions in question. An engine that can do without them does not iterate. */
  readonly owners: Iterable<Owner>;
  /** Null: only the mark of now is wanted. */
  readonly mark: string | null;
}

export interface ChangedRead {
  /** Of ASCII letters, digits, `-`, `_` and `.`. Every commit that a read can see now is before it, all others are after it. */
  readonly mark: string;
  /** Owners, in any order. Null: no mark was given, or it is not one of this store, or from before its first change. */
  readonly changed: readonly Owner[] | null;
}

export interface StoredObject {
  /** Its position in the journal. */
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
  /** Tombstones with seq above this (and above `after`). A reader that starts over skips old tombstones. */
  readonly tombstonesAfter: number;
  /** Records and tombstones together, ≥ 1. */
  readonly entriesMax: number;
  /** Text of records and ids together; the first entry is always given. */
  readonly unitsMax: number;
}

/** A slice of the journal: everything with a seq in (after, upTo], ascending. */
export interface JournalSlice {
  readonly state: PartitionState;
  readonly records: readonly string[];
  /** The seq of each record. */
  readonly seqs: readonly number[];
  /** Ids of tombstones. */
  readonly tombstones: readonly string[];
  /** The end of the slice; `state.head` when nothing follows. */
  readonly upTo: number;
}

/** A slice with its records joined. */
export interface JoinedSlice extends Omit<JournalSlice, 'records' | 'seqs'> {
  readonly count: number;
  /** As UTF-8, with commas in between. The store never writes to these bytes again: a page may be sent from them. */
  readonly records: Uint8Array;
  /** True: the bytes contain no line feed. Otherwise it is unknown. */
  readonly isOneLine?: boolean;
}

export interface SeqRange {
  readonly after: number;
  readonly upTo: number;
}

export interface RecordCount {
  readonly state: PartitionState;
  readonly count: number;
}

export interface Change {
  readonly id: string;
  /** Null deletes. Deleting an object that is not live does nothing and takes no seq. */
  readonly record: string | null;
  /** The checksum of the new record; 0 for a deletion. */
  readonly checksum: number;
  /** The files that the record refers to, each once. Absent: none. A deletion has none. */
  readonly files?: readonly string[];
  /** The seq the object must have, tombstones included; 0: it must be unknown to the partition. Absent: not checked. */
  readonly expect?: number;
}

/**
 * Every change takes the next seq, in the given order, and the object moves there in the journal. Size, checksum and head
 * are updated. A commit holds an id at most once. A commit without changes does not raise the head.
 */
export interface Commit {
  readonly partition: PartitionKey;
  readonly changes: readonly Change[];
  /** The head the partition must have. Absent: not checked. */
  readonly expectHead?: number;
  /**
   * Objects that the write leaves unchanged because of their content, and that must still have the seq at which they were
   * read. Otherwise two writes that each change what the other left unchanged could both commit.
   */
  readonly kept?: readonly UnchangedObject[];
  /**
   * The state in which the objects were read. Another epoch is a conflict, because its seqs have another meaning. While
   * epoch and head are the same, an engine need not check the expectations.
   */
  readonly seen?: Pick<PartitionState, 'epoch' | 'head'>;
  /**
   * The `bytes` allowed for the partition. A commit that would exceed it is refused, unless it makes them fewer, or writes
   * neither records nor notes: deletions make room, though a tombstone may take more than a small record. Absent: no limit.
   */
  readonly bytesMax?: number;
  /** The time of the commit, for `commitTimes`. Absent: its changes get the time of the commit before. */
  readonly atMs?: number;
  /** Notes of a device, written in the same step, also without changes. */
  readonly notes?: NotesWrite;
  /** Entries that must exist. */
  readonly guards: readonly Guard[];
}

export type UnchangedObject = Required<Pick<Change, 'id' | 'expect'>>;

export type CommitResult =
  | { readonly status: 'committed'; readonly state: PartitionState }
  | { readonly status: 'conflict' }
  /** The commit would exceed `bytesMax`. */
  | { readonly status: 'too_large' }
  | { readonly status: 'gone'; readonly guard: Guard };

const encoder = new TextEncoder();

/** Joins the records of a slice, for engines that store every record separately. */
export function joinedSlice({ state, records, tombstones, upTo }: JournalSlice): JoinedSlice {
  return { state, tombstones, upTo, count: records.length, records: encoder.encode(records.join(',')) };
}

/** What a tombstone or a note takes besides its own texts: keys and indexes of the engine, about. */
export const KEPT_OVERHEAD_BYTES = 100;

/** The bytes with which the quota counts a tombstone, which has an id only, or a note of an upload: its key and its text. */
export function keptBytes(name: string, text = ''): number {
  return Buffer.byteLength(name) + Buffer.byteLength(text) + KEPT_OVERHEAD_BYTES;
}
