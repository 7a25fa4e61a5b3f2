import type { PartitionState } from '../ports/store.ts';

/** Returns the seq up to which a state known under `epoch` is still valid; null for another epoch. */
export function isValidUpTo({ epoch: current, head, earlier = [] }: PartitionState, epoch: string): number | null {
  if (epoch === current) return head;
  const past = earlier.find((candidate) => candidate.epoch === epoch);
  return past === undefined ? null : Math.min(past.upTo, head);
}
