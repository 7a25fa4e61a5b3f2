import type { MemoryPartition } from './memory-life.ts';

/** Forgets at most `gravesMax` tombstones up to `upTo`; the floor rises to just below the first one left. */
export function trimGraves(partition: MemoryPartition, upTo: number, gravesMax: number): void {
  const goal = Math.min(upTo, partition.head);
  let reached = goal;
  let forgotten = 0;
  for (const [seq, { id, record }] of partition.journal) {
    if (seq > goal) break;
    if (record !== null) continue;
    if (forgotten === gravesMax) {
      reached = seq - 1;
      break;
    }
    partition.journal.delete(seq);
    partition.index.delete(id);
    forgotten += 1;
  }
  partition.floor = Math.max(partition.floor, reached);
}
