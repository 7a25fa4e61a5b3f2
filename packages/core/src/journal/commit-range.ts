import type { PartitionState } from '../ports/store.ts';

/** The seqs that one or more commits have written: those after `after`, up to `upTo`. */
export interface CommitRange {
  readonly epoch: string;
  readonly after: number;
  readonly upTo: number;
}

/** The range of a commit of `changes` objects, each of which took one seq. `state` is the partition after it. */
export function rangeOfCommit({ epoch, head }: Pick<PartitionState, 'epoch' | 'head'>, changes: number): CommitRange {
  return { epoch, after: head - changes, upTo: head };
}

/** The smallest range that includes both. Null: they have different epochs, or one of them is unknown. */
export function joinRanges(left: CommitRange | null, right: CommitRange | null): CommitRange | null {
  if (left === null || right === null || left.epoch !== right.epoch) return null;
  return { epoch: left.epoch, after: Math.min(left.after, right.after), upTo: Math.max(left.upTo, right.upTo) };
}
