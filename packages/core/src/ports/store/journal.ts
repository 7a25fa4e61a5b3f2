import type { Guard } from './entries.ts';
import type { NotesWrite } from './notes.ts';
import type { PartitionKey, PartitionState } from './partition.ts';

/** Partitions and their journals. A partition is the data of one user of a source, or the shared data of a source. */
export interface JournalStore {
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
  readonly tombstonesAfter: number;
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
  readonly tombstones: readonly string[];
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

export type Kept = Required<Pick<Change, 'id' | 'expect'>>;

export type CommitResult =
  | { readonly status: 'committed'; readonly state: PartitionState }
  | { readonly status: 'conflict' }
  /** It would exceed `bytesMax`. */
  | { readonly status: 'too_large' }
  | { readonly status: 'gone'; readonly guard: Guard };
