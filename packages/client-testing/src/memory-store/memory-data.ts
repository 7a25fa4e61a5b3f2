import {
  type DeviceTidemark,
  type DocumentScope,
  type DocumentType,
  type EarlierEpoch,
  type EntryKind,
  type Note,
  ownerText,
  type PartitionKey,
  type Piece,
  type StatRow,
} from '@tidemark/core';
import { tupleKey } from './tuples.ts';

/** Everything a store holds between two resets. Every map is keyed by `tupleKey` unless it says otherwise. */
export interface MemoryData {
  readonly epoch: string;
  readonly partitions: Map<string, MemoryPartition>;
  /** The number of the last commit to the partition of a group. */
  lastChange: number;
  readonly documents: Map<string, MemoryDocument>;
  readonly entries: Map<string, MemoryEntry>;
  readonly notes: Map<string, MemoryNote>;
  /** Metric → start of the step → row. */
  readonly stats: Map<string, Map<number, StatRow>>;
  /** Imported queues and jobs, unchanged: this store runs none. */
  readonly carriedJobs: Piece[];
}

export interface MemoryPartition {
  readonly key: PartitionKey;
  readonly epoch: string;
  readonly earlier?: readonly EarlierEpoch[];
  head: number;
  floor: number;
  size: number;
  checksum: number;
  /** When its changes were committed, as `addCommitTime` writes it. */
  times: string;
  /** The number of the last commit, if this is the partition of a group. */
  changed: number;
  /** Object id → its seq. */
  readonly index: Map<string, IndexEntry>;
  /** Seq → entry. Iteration is ascending, because a map keeps the order of insertion and seqs only grow. */
  readonly journal: Map<number, JournalEntry>;
  /** Object id → the files it refers to. Objects without files are not in it. */
  readonly files: Map<string, readonly string[]>;
  /** By client. */
  readonly tidemarks: Map<string, DeviceTidemark>;
}

export interface IndexEntry {
  readonly seq: number;
  readonly live: boolean;
  readonly checksum: number;
}

export interface JournalEntry {
  readonly id: string;
  /** Null: a tombstone. */
  readonly record: string | null;
}

export interface MemoryDocument {
  readonly scope: DocumentScope;
  readonly name: string;
  readonly type: DocumentType;
  readonly version: number;
  readonly parts: ReadonlyMap<string, string>;
}

export interface MemoryNote extends Note {
  readonly partition: PartitionKey;
  readonly client: string;
  readonly endsAtMs: number;
}

export interface MemoryEntry {
  readonly kind: EntryKind;
  readonly key: readonly string[];
  readonly value: string;
  readonly version: number;
}

export function newData(epoch: string): MemoryData {
  const maps = { partitions: new Map(), documents: new Map(), entries: new Map(), notes: new Map(), stats: new Map() };
  return { epoch, ...maps, lastChange: 0, carriedJobs: [] };
}

/** The key of a partition in `partitions`. */
export function mapKeyOf({ source, owner }: PartitionKey): string {
  return tupleKey(source, ownerText(owner));
}

/** Returns the partition, or an empty one that is not stored: reading never writes. */
export function partitionOf(data: MemoryData, key: PartitionKey): MemoryPartition {
  return data.partitions.get(mapKeyOf(key)) ?? newPartition(key, data.epoch);
}

export function newPartition(key: PartitionKey, epoch: string): MemoryPartition {
  const empty = { head: 0, floor: 0, size: 0, checksum: 0, times: '', changed: 0 };
  return { key, epoch, ...empty, index: new Map(), journal: new Map(), files: new Map(), tidemarks: new Map() };
}
