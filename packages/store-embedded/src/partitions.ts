import {
  type EarlierEpoch,
  type PartitionKey,
  type PartitionState,
  partitionFrom,
  partitionParts,
} from '@tidemark/core/ports';
import { keyOf, lookUpKey, textsOf } from './keys.ts';
import { storeEpoch } from './meta.ts';
import type { Tables } from './tables.ts';

/** The row of a partition. Its number stands for its name in the keys of all other tables. */
export interface PartitionRow {
  readonly number: number;
  /** Follows the epoch of the store in the epoch of the partition. */
  readonly epochSuffix: string;
  readonly head: number;
  readonly floor: number;
  readonly size: number;
  readonly checksum: number;
  readonly tombstones: number;
  /** Bytes of the records of live objects, as UTF-8. */
  readonly bytes: number;
  /** Live objects that refer to files. Absent: none ever did. */
  readonly files?: number;
  /** The number of the last commit in the order of changes (`changes.ts`). Absent: the order does not contain it. */
  readonly changed?: number;
  /** When its changes were committed (`addCommitTime`). Absent: an earlier version wrote it, or no commit had a time. */
  readonly times?: string;
  /** Only a partition that was moved here from another engine has earlier epochs. */
  readonly earlier?: readonly EarlierEpoch[];
}

/** The keys of a user's partitions share a prefix, so erasing a user reads no others. */
export function partitionName(key: PartitionKey): Buffer {
  return keyOf(...partitionParts(key));
}

export function partitionKeyOf(name: Uint8Array): PartitionKey {
  return partitionFrom(textsOf(name));
}

export function readPartition(tables: Tables, key: PartitionKey): PartitionRow | null {
  const text = tables.partitions.get(lookUpKey(...partitionParts(key)));
  return text === undefined ? null : parsePartition(text);
}

export function writePartition(tables: Tables, key: PartitionKey, partition: PartitionRow): void {
  tables.partitions.put(partitionName(key), JSON.stringify(partition));
}

/** Partitions are read far more often than they change, so parsed rows are cached by their text. */
const PARSED_MAX = 10_000;
const parsed = new Map<string, PartitionRow>();

function parsePartition(text: string): PartitionRow {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const partition = JSON.parse(text) as PartitionRow;
  if (parsed.size >= PARSED_MAX) parsed.clear();
  parsed.set(text, partition);
  return partition;
}

/** Returns the state of a partition; null stands for one that was never written to. */
export function stateOf(tables: Tables, partition: PartitionRow | null): PartitionState {
  const epoch = storeEpoch(tables);
  if (partition === null) return { epoch, head: 0, floor: 0, size: 0, checksum: 0 };
  const { head, floor, size, checksum, earlier } = partition;
  const state = { epoch: epoch + partition.epochSuffix, head, floor, size, checksum };
  return earlier === undefined ? state : { ...state, earlier };
}

export function listPartitions(
  tables: Tables,
  after: PartitionKey | undefined,
  limit: number,
): readonly PartitionKey[] {
  const start = after === undefined ? undefined : partitionName(after);
  const keys = tables.partitions.getKeys({ ...(start === undefined ? {} : { start, exclusiveStart: true }), limit });
  return [...keys].map(partitionKeyOf);
}
