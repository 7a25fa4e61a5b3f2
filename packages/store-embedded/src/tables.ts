import { type Database, type Key, open, type RootDatabase } from 'lmdb';
import type { BorrowedBytes } from './borrowed-bytes.ts';
import {
  type JournalKey,
  journalKeyEncoder,
  type LookUpKey,
  type ObjectKey,
  objectKeyEncoder,
  tupleEncoder,
} from './keys.ts';

/** A table whose keys are tuples of texts, and may be looked up as text. */
type TupleTable = Database<string, Buffer> & { get(key: LookUpKey): string | undefined };

/** The tables of the store: LMDB databases in one file. */
export interface Tables {
  readonly root: RootDatabase;
  /** The epoch and the counters of the store (`meta.ts`). */
  readonly meta: Database<string, string>;
  /** Partition name → row as JSON text. */
  readonly partitions: TupleTable;
  /** [source, number of the change] → group, once each, at its last commit (`changes.ts`). */
  readonly changes: Database<string, Buffer>;
  /** [partition, seq] → a run of records of live objects (`runs.ts`). */
  readonly live: Database<BorrowedBytes, JournalKey>;
  /** [partition, seq] → id of a deleted object. */
  readonly tombstones: Database<string, JournalKey>;
  /** [partition, id] → seq, live or deleted, checksum (`object-index.ts`). */
  readonly index: Database<Buffer, ObjectKey>;
  /** [partition, id] → the hashes of the files of an object, one behind the other (`file-index.ts`). */
  readonly objectFiles: Database<string, ObjectKey>;
  /** [partition, hash, id]: the same by file. */
  readonly fileObjects: Database<string, Buffer>;
  /** [client, partition] → tidemark (`tidemark-row.ts`). */
  readonly tidemarks: Database<string, Buffer>;
  /** [partition, epoch name, acknowledged seq, client]: the tidemarks by what they acknowledge (`acknowledged-index.ts`). */
  readonly acknowledged: Database<string, Buffer>;
  /** [partition, epoch name] → number of tidemarks. */
  readonly acknowledgedCounts: Database<string, Buffer>;
  /** […partition name, client, kind, key] → expiry and text of a note. */
  readonly notes: Database<string, Buffer>;
  /** [client, …partition name]: the partitions on which a client has notes. */
  readonly clientNotes: TupleTable;
  /** Partition name → bytes of its tombstones and notes (`retained-bytes.ts`). */
  readonly kept: TupleTable;
  /** […partition name, client, expiry, kind, key]: the notes that expire, ordered by expiry. */
  readonly noteExpiry: Database<string, Buffer>;
  /** Document name → row as JSON text. */
  readonly documents: Database<string, Buffer>;
  /** [document, part] → text. */
  readonly parts: Database<string, Buffer>;
  /** [kind, …key] → version and value of a registry entry. */
  readonly entries: TupleTable;
  /** [metric, step] → row as JSON text. */
  readonly stats: Database<string, Buffer>;
  /** Job number → row of a job without its payload, as JSON text. */
  readonly jobs: Database<string, Buffer>;
  /** Job number → payload. It has a table of its own, so that leasing a job does not write it again. */
  readonly payloads: Database<string, Buffer>;
  /** [queue, …, job number]: the jobs of each queue by state, and the head of each order (`jobs/job-keys.ts`). */
  readonly jobIndex: Database<string, Buffer>;
  /** Queue → whether it is paused, and its counts, as JSON text. */
  readonly queues: Database<string, Buffer>;
}

export const STORE_FILE = 'store.mdb';
const TABLES_MAX = 32;
/** Address space, not disk: the file grows as it is filled. It is large, so that no thread ever has to map it again. */
export const MAP_BYTES = 2 ** 38;

const texts = { encoding: 'string', keyEncoding: 'binary' } as const;

export function openRoot(
  file: string,
  options: { readonly mapBytes: number; readonly isReadOnly?: boolean },
): RootDatabase {
  return open({
    path: file,
    maxDbs: TABLES_MAX,
    mapSize: options.mapBytes,
    readOnly: options.isReadOnly ?? false,
    // A commit must not become visible before it is on the disk: a power failure could take back what a device has
    // already received, and later give the same seq to another change.
    overlappingSync: false,
    ...texts,
  });
}

/** Returns the names of the tables in the file, also of those that only other versions use. */
export function tableNames(root: RootDatabase): readonly string[] {
  return [...root.getKeys()].map((name) => (name as Buffer).toString().replace(/\0$/, ''));
}

export function openTextTable(root: RootDatabase, name: string): Database<string, Buffer> {
  return root.openDB(name, texts);
}

export function openTables(file: string, options: { readonly mapBytes: number }): Tables {
  const root = openRoot(file, options);
  // The library accepts encoders of keys; its types do not know that.
  const tuples = { encoding: 'string', keyEncoder: tupleEncoder } as unknown as typeof texts;
  const journal = { encoding: 'string', keyEncoder: journalKeyEncoder } as unknown as typeof texts;
  const live = { encoder: borrowedBytes, keyEncoder: journalKeyEncoder } as unknown as { readonly encoding: 'binary' };
  const index = { encoding: 'binary', keyEncoder: objectKeyEncoder } as unknown as { readonly encoding: 'binary' };
  const objects = { encoding: 'string', keyEncoder: objectKeyEncoder } as unknown as typeof texts;
  return {
    root,
    meta: root.openDB('meta', { encoding: 'string' }),
    partitions: root.openDB<string, Buffer>('partitions', tuples) as TupleTable,
    changes: root.openDB('changes', texts),
    live: root.openDB('live', live),
    tombstones: root.openDB('tombstones', journal),
    index: root.openDB('index', index),
    objectFiles: root.openDB('object_files', objects),
    fileObjects: root.openDB('file_objects', texts),
    // Format 4 had other tables of tidemarks, under other names (`convert-tidemarks.ts`).
    tidemarks: root.openDB('client_marks', texts),
    acknowledged: root.openDB('acknowledgements', texts),
    acknowledgedCounts: root.openDB('acknowledgement_counts', texts),
    notes: root.openDB('notes', texts),
    clientNotes: root.openDB<string, Buffer>('client_notes', tuples) as TupleTable,
    kept: root.openDB<string, Buffer>('kept', tuples) as TupleTable,
    noteExpiry: root.openDB('note_expiry', texts),
    documents: root.openDB('documents', texts),
    parts: root.openDB('parts', texts),
    entries: root.openDB<string, Buffer>('entries', tuples) as TupleTable,
    stats: root.openDB('stats', texts),
    jobs: root.openDB('jobs', texts),
    payloads: root.openDB('payloads', texts),
    jobIndex: root.openDB('job_index', texts),
    queues: root.openDB('queues', texts),
  };
}

/** Returns values in LMDB's own buffer instead of a copy of each. */
const borrowedBytes = {
  decode: (bytes: BorrowedBytes): BorrowedBytes => bytes,
  encode: (bytes: BorrowedBytes): BorrowedBytes => bytes,
};

/** Keys held in memory at a time while a range is removed. */
const REMOVE_CHUNK = 10_000;

/** Removes all keys from `start` up to, not including, `end`. Runs in the writer's transaction. */
export function removeRange<K extends Key>(table: Database<unknown, K>, start: K, end: K): void {
  for (;;) {
    const keys = [...table.getKeys({ start, end, limit: REMOVE_CHUNK })];
    for (const key of keys) table.remove(key);
    if (keys.length < REMOVE_CHUNK) return;
  }
}
