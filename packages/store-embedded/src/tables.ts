import { type Database, open, type RootDatabase } from 'lmdb';
import type { BorrowedBytes } from './borrowed-bytes.ts';
import {
  type JournalKey,
  journalKeyEncoder,
  type LookUpKey,
  type ObjectKey,
  objectKeyEncoder,
  tupleEncoder,
} from './keys.ts';

/** Keys are tuples of texts, and may be looked up as text. */
type TupleTable = Database<string, Buffer> & { get(key: LookUpKey): string | undefined };

/** All that the store keeps, as LMDB databases in one file. */
export interface Tables {
  readonly root: RootDatabase;
  /** Facts about the store: format, epoch, counters. */
  readonly facts: Database<string, string>;
  /** Partition name → state as JSON text. */
  readonly partitions: TupleTable;
  /** [partition, seq] → a run of records of live objects (`runs.ts`). */
  readonly live: Database<BorrowedBytes, JournalKey>;
  /** [partition, seq] → id of a deleted object. */
  readonly tombstones: Database<string, JournalKey>;
  /** [partition, id] → seq, live or deleted, checksum (`object-index.ts`). */
  readonly index: Database<Buffer, ObjectKey>;
  /** [partition, client] → tidemark. */
  readonly tidemarks: Database<string, Buffer>;
  /** [client, partition]: which partitions a client has tidemarks on. */
  readonly marked: Database<string, Buffer>;
  /** […partition name, client, kind, key] → end and text of a note. */
  readonly notes: Database<string, Buffer>;
  /** [client, …partition name]: which partitions a client has notes on. */
  readonly noted: TupleTable;
  /** […partition name, client, end, kind, key]: the notes that end, in the order in which they do. */
  readonly ending: Database<string, Buffer>;
  /** Document name → header as JSON text. */
  readonly documents: Database<string, Buffer>;
  /** [document, part] → text. */
  readonly parts: Database<string, Buffer>;
  /** [kind, …key] → version and value of a registry entry. */
  readonly entries: TupleTable;
  /** [metric, step] → row as JSON text. */
  readonly stats: Database<string, Buffer>;
  /** Job number → all about a job but what it carries, as JSON text. */
  readonly jobs: Database<string, Buffer>;
  /** Job number → what the job carries. It stands apart, so that a lease does not write it again. */
  readonly payloads: Database<string, Buffer>;
  /** [queue, kind of place, …, job number]: where each job stands, and who is first in each order. */
  readonly jobPlaces: Database<string, Buffer>;
  /** Queue → whether it is paused, and its counts, as JSON text. */
  readonly queues: Database<string, Buffer>;
}

export const STORE_FILE = 'store.mdb';
const TABLES_MAX = 32;
/** Address space, not disk: the file grows as it is filled. Large, so that no thread ever has to map it anew. */
export const MAP_BYTES = 2 ** 38;

export function openTables(
  file: string,
  options: { readonly mapBytes: number; readonly isReadOnly?: boolean },
): Tables {
  const root = open({
    path: file,
    maxDbs: TABLES_MAX,
    mapSize: options.mapBytes,
    readOnly: options.isReadOnly ?? false,
    // A commit must not be visible before it is on the disk: a device could otherwise hold what a power failure takes
    // back, and its seq would be given to another change later.
    overlappingSync: false,
    keyEncoding: 'binary',
    encoding: 'string',
  });
  const texts = { encoding: 'string', keyEncoding: 'binary' } as const;
  // The library takes encoders of keys without telling its types.
  const tuples = { encoding: 'string', keyEncoder: tupleEncoder } as unknown as typeof texts;
  const journal = { encoding: 'string', keyEncoder: journalKeyEncoder } as unknown as typeof texts;
  const live = { encoder: borrowedBytes, keyEncoder: journalKeyEncoder } as unknown as { readonly encoding: 'binary' };
  const index = { encoding: 'binary', keyEncoder: objectKeyEncoder } as unknown as { readonly encoding: 'binary' };
  return {
    root,
    facts: root.openDB('facts', { encoding: 'string' }),
    partitions: root.openDB<string, Buffer>('partitions', tuples) as TupleTable,
    live: root.openDB('live', live),
    tombstones: root.openDB('tombstones', journal),
    index: root.openDB('index', index),
    tidemarks: root.openDB('tidemarks', texts),
    marked: root.openDB('marked', texts),
    notes: root.openDB('notes', texts),
    noted: root.openDB<string, Buffer>('noted', tuples) as TupleTable,
    ending: root.openDB('ending', texts),
    documents: root.openDB('documents', texts),
    parts: root.openDB('parts', texts),
    entries: root.openDB<string, Buffer>('entries', tuples) as TupleTable,
    stats: root.openDB('stats', texts),
    jobs: root.openDB('jobs', texts),
    payloads: root.openDB('payloads', texts),
    jobPlaces: root.openDB('job_places', texts),
    queues: root.openDB('queues', texts),
  };
}

/** Hands out values where they lie, instead of copying each. */
const borrowedBytes = {
  decode: (bytes: BorrowedBytes): BorrowedBytes => bytes,
  encode: (bytes: BorrowedBytes): BorrowedBytes => bytes,
};
