import { type PartitionKey, partitionParts } from '@tidemark/core/ports';
import { behind, keyOf, lookUpKey } from './keys.ts';
import { partitionKeyOf, partitionName } from './partitions.ts';
import { removeRange, type Tables } from './tables.ts';

// The bytes of the tombstones and notes of a partition, which count in its quota like those of its records. They have a
// table of their own, because a partition may have notes before it has a row. What is not there is 0.

export function readRetainedBytes(tables: Tables, partition: PartitionKey): number {
  return Number(tables.kept.get(lookUpKey(...partitionParts(partition))) ?? 0);
}

/**
 * Notes and tombstones of an earlier version were not counted: when they go, the count stays at 0. Runs in the writer's
 * transaction.
 */
export function changeRetainedBytes(tables: Tables, partition: PartitionKey, by: number): void {
  if (by === 0) return;
  const kept = readRetainedBytes(tables, partition) + by;
  const name = partitionName(partition);
  if (kept > 0) tables.kept.put(name, String(kept));
  else tables.kept.remove(name);
}

export function removeRetainedBytesOfUser(tables: Tables, user: string): void {
  const start = keyOf('user', user);
  removeRange(tables.kept, start, behind(start) ?? Buffer.from([0xff]));
}

export function removeRetainedBytesOfSource(tables: Tables, source: string): void {
  for (const name of [...tables.kept.getKeys()]) {
    if (partitionKeyOf(name).source === source) tables.kept.remove(name);
  }
}
