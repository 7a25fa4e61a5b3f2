import type { PartitionState } from '../ports/store.ts';

/** The seq up to which what was known under an epoch is still true; null: it is of another life altogether. */
export function isValidUpTo({ epoch: current, head, earlier = [] }: PartitionState, epoch: string): number | null {
  if (epoch === current) return head;
  const past = earlier.find((candidate) => candidate.epoch === epoch);
  return past === undefined ? null : Math.min(past.upTo, head);
}
