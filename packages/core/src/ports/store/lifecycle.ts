import type { EntryRef } from './entries.ts';
import type { PartitionKey } from './partition.ts';

/** The store as a whole: its engine, its epoch, reset, backup, verification and closing. */
export interface StoreLifecycle {
  readonly engine: EngineDescription;

  /** The word for this life of the store. Reset and restore begin a new life. */
  epoch(): Promise<string>;

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
