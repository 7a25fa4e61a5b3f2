import type { PartitionKey } from '../owner.ts';
import type { EntryRef } from './entries.ts';

/** The store as a whole: its engine, its epoch, reset, backup, verification and closing. */
export interface StoreLifecycle {
  readonly engine: EngineDescription;

  /** The epoch of the store. Reset and restore begin a new one. */
  epoch(): Promise<string>;

  /** Deletes everything except the entries named, and begins a new epoch. Returns it. */
  reset(keep: readonly EntryRef[]): Promise<string>;
  /** Copies a consistent state to a new folder while work goes on. Opening the copy begins a new epoch. */
  backup(folder: string): Promise<void>;
  /** Recomputes all derived data from the records and yields every difference. */
  verify(reader: RecordReader): AsyncIterable<Finding>;
  /** Calls the listener after each flush to the disk with the time it took. Absent: the engine does not know. */
  onFlushed?(listener: (tookMs: number) => void): void;
  /** The memory that the primaries of the engine use; null: one of them did not tell. Absent: the data is in a file. */
  memoryBytes?(): Promise<number | null>;
  /** Finishes pending writes, then closes the store. */
  close(): Promise<void>;
}

export interface EngineDescription {
  readonly name: string;
  /**
   * `durable`: flushed to disk before a write is acknowledged. `buffered`: acknowledged before it is flushed, so that a
   * crash can take back the last ones. `memory`: gone with the process.
   */
  readonly durability: 'durable' | 'buffered' | 'memory';
  /** How the durability was determined, for operators. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
  /** Advice for the operator. */
  readonly warnings?: readonly string[];
}

/** Reads a record for `verify`. Throws when the record cannot be read. */
export type RecordReader = (record: string) => ReadRecord;

export interface ReadRecord {
  readonly id: string;
  readonly checksum: number;
  /** The files it refers to, each once. Absent: none. */
  readonly files?: readonly string[];
}

export interface Finding {
  /** Null when it concerns the store as a whole. */
  readonly partition: PartitionKey | null;
  readonly problem:
    | 'unreadable'
    | 'wrong_size'
    | 'wrong_checksum'
    | 'wrong_object_checksum'
    | 'seq_beyond_head'
    | 'tombstone_below_floor'
    | 'missing_from_index'
    | 'missing_from_journal'
    | 'wrong_files'
    | 'missing_file'
    | 'damaged_file'
    | 'orphan';
  readonly detail: string;
}
