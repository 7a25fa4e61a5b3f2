import type { CommitInterval } from '../ports/commit-times.ts';
import type { DeviceTidemark, PartitionState } from '../ports/store.ts';

/** Commit times are kept in whole seconds. */
const TIME_GRAIN_MS = 1_000;

/** What is known of a device that has no tidemark in a partition. */
export interface UnmarkedDevice {
  readonly client: string;
  readonly lastSyncMs: number | null;
}

/**
 * Returns the tidemark that a device would have if stores kept those of partitions without any write: it was seen before
 * the first change, so it holds the empty partition. Null: it was never seen, or only later, and then it has presented no
 * token of this partition.
 */
export function heldEmpty(
  { client, lastSyncMs }: UnmarkedDevice,
  { epoch, head }: PartitionState,
  [first]: readonly CommitInterval[],
): DeviceTidemark | null {
  if (lastSyncMs === null) return null;
  const wasEmpty = head === 0 || (first?.seq === 1 && lastSyncMs < first.fromMs + TIME_GRAIN_MS);
  return wasEmpty ? { client, epoch, seq: 0, base: 0, start: null, seenAtMs: lastSyncMs } : null;
}
