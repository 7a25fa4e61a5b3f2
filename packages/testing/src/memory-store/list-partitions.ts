import type { PartitionKey } from '@tidemark/core';
import { compareTuples } from './compare-tuples.ts';
import type { MemoryLife } from './memory-life.ts';

interface PartitionList {
  readonly after?: PartitionKey;
  readonly limit: number;
}

/** Ordered by source, then by user; the shared partition of a source comes first. */
export function listPartitions(life: MemoryLife, { after, limit }: PartitionList): PartitionKey[] {
  return [...life.partitions.values()]
    .map(({ key }) => key)
    .sort(compareKeys)
    .filter((key) => after === undefined || compareKeys(key, after) > 0)
    .slice(0, limit);
}

function compareKeys(left: PartitionKey, right: PartitionKey): number {
  return compareTuples(tupleOf(left), tupleOf(right));
}

function tupleOf({ source, user }: PartitionKey): readonly string[] {
  return user === null ? [source] : [source, user];
}
