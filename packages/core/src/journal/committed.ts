import type { PartitionKey } from '../ports/store.ts';
import type { CommitRange } from './commit-range.ts';

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
export type CommitCause = 'push' | 'document' | 'refresh' | 'late_refresh' | 'upload' | 'membership';
