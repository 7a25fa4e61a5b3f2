import type { PartialError } from '@tidemark/protocol';
import type { FileView } from '../files/file-lists.ts';
import type { CommitInterval } from '../ports/commit-times.ts';
import type { DeviceTidemark, PartitionState, StoredObject } from '../ports/store.ts';

/** Everything that a verdict is made of, as read from the store. */
export interface ExplainFacts {
  readonly object: string;
  readonly source: string;
  /** The object and the state of the partition, read at one moment. Undefined: the partition does not know the object. */
  readonly stored: StoredObject | undefined;
  readonly state: PartitionState;
  /** When the changes of the partition were committed. */
  readonly times: readonly CommitInterval[];
  readonly mark: DeviceTidemark | null;
  /** True: the object is in a partition that the user's data was in before. */
  readonly isInEarlierPartition: boolean;
  /** The group that was asked about, if the user is not a member of it. */
  readonly foreignGroup: string | null;
  /** The group in which the object was looked for; null: the data of the source does not belong to groups. */
  readonly group: string | null;
  /** The order to erase the device; null: there is none. */
  readonly wipe: { readonly orderedAt: string; readonly confirmedAt: string | null } | null;
  /** The outcome of the last upload of this device to the object, unless it was applied or acknowledged. */
  readonly upload: { readonly status: string; readonly error: PartialError | null } | null;
  /** The refreshes of the partition from its backend; null: the source has none. */
  readonly refresh: { readonly atMs: number | null; readonly trouble: PartialError | null } | null;
  /** Why the connector that fills the source from a database has not brought everything; null: it has, or there is none. */
  readonly connector: { readonly name: string; readonly reason: string } | null;
  /** The files that the object refers to and that have not arrived, those that are missing longest first. */
  readonly missingFiles: readonly FileView[];
  /** When the device was last here; before its first pull, when it signed in first. */
  readonly lastContactMs: number;
  readonly isAway: boolean;
}

export type Verdict =
  | 'current'
  | 'behind'
  | 'pending'
  | 'unconfirmed'
  | 'deleted'
  | 'deletion_pending'
  | 'device_away'
  | 'starting_over'
  | 'never_synced'
  | 'other_epoch'
  | 'wiped'
  | 'upload_queued'
  | 'upload_rejected'
  | 'other_partition'
  | 'refresh_failing'
  | 'not_in_backend'
  | 'connector_behind'
  | 'file_not_uploaded'
  | 'trimmed_or_never_existed'
  | 'never_existed';
