import { type Conflicts, type PartitionType, parseJson, type References, type SyncType } from '@tidemark/protocol';

export interface SourceRecord {
  readonly partitionType: PartitionType;
  /** `none`, `backend`, or the name of a source module. */
  readonly adapter: string;
  /** Null: nobody has chosen, so the adapter decides. */
  readonly pollIntervalS: number | null;
  readonly syncType: SyncType;
  readonly queue: string | null;
  readonly queryQueue: string | null;
  readonly cudQueue: string | null;
  readonly conflicts: Conflicts;
  /** Devices read it; their uploads are rejected. */
  readonly readOnly: boolean;
  readonly references: References;
  /** A committed push pings the users it concerns. */
  readonly pushNotify: boolean;
  /** Stands in the configuration, and so survives a reset. */
  readonly configured: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** The `user_name` of the last update that gave one. */
  readonly updatedBy: string | null;
}

/** What stands for the adapter of a source that is only pushed to. */
export const NO_ADAPTER = 'none';
const POLL_INTERVAL_S = 300;
const NEVER_POLL = -1;

/** A source about which nothing was said but its name. */
export const PLAIN_SOURCE: Omit<SourceRecord, 'createdAtMs' | 'updatedAtMs'> = {
  partitionType: 'user',
  adapter: NO_ADAPTER,
  pollIntervalS: null,
  syncType: 'incremental',
  queue: null,
  queryQueue: null,
  cudQueue: null,
  conflicts: 'last_writer',
  readOnly: false,
  references: {},
  pushNotify: false,
  configured: false,
  updatedBy: null,
};

/** A source without an adapter has nobody to ask. */
export function pollIntervalOf({ pollIntervalS, adapter }: SourceRecord): number {
  return pollIntervalS ?? (adapter === NO_ADAPTER ? NEVER_POLL : POLL_INTERVAL_S);
}

/** What a record from before an attribute existed does not say is as if nobody had said anything. */
export function readSourceRecord(text: string): SourceRecord {
  return { ...PLAIN_SOURCE, ...(parseJson(text) as SourceRecord) };
}

export function writeSourceRecord(record: SourceRecord): string {
  return JSON.stringify(record);
}
