import type { ModelPartition } from '../model/partition.ts';

// The sources and users of a simulation have names that would collide if somebody joined them with a separator:
// source `S` of user `a:b`, source `S:a` of user `b`.

export const SHARED_SOURCE = 'Shared';
export const USER_SOURCES = ['S', 'S:a'] as const;
export const USERS = ['b', 'a:b'] as const;

export const PARTITIONS: readonly ModelPartition[] = [
  ...USER_SOURCES.flatMap((source) => USERS.map((user) => ({ source, user }))),
  { source: SHARED_SOURCE, user: null },
];

/**
 * Returns the mark inside the values written to a partition. The mark of one partition in the data of another is a leak.
 * It contains no quotes, so JSON text holds it unescaped.
 */
export function ownerMark({ source, user }: ModelPartition): string {
  return `«${source}|${user ?? ''}»`;
}
