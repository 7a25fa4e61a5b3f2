import type { PartitionKey, PartitionState } from '../ports/store.ts';

/** A durable change of a partition. */
export interface Committed {
  readonly partition: PartitionKey;
  readonly cause: CommitCause;
  /** Absent: it is not known what the commit wrote, or it wrote nothing. */
  readonly range?: CommitRange;
}

/**
 * `late_refresh`: a refresh ended for which devices got `refresh_pending`; it may have changed nothing. `membership`: the
 * user has become a member of other groups, so that other data is the user's.
 */
export type CommitCause = 'push' | 'conversion' | 'document' | 'refresh' | 'late_refresh' | 'upload' | 'membership';

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
