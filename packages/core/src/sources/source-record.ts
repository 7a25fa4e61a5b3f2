import {
  type Conflicts,
  type PartitionType,
  type PushNotify,
  parseJson,
  type References,
  type SyncType,
} from '@tidemark/protocol';
import type { StoredSchema } from '../schemas/stored-schema.ts';

export interface SourceRecord {
  readonly partitionType: PartitionType;
  /** `none`, `backend`, or the name of a source module. */
  readonly adapter: string;
  /** Null: the default for the adapter. */
  readonly pollIntervalS: number | null;
  readonly syncType: SyncType;
  readonly queue: string | null;
  readonly queryQueue: string | null;
  readonly cudQueue: string | null;
  readonly conflicts: Conflicts;
  /** True: uploads of devices are rejected. */
  readonly readOnly: boolean;
  /** True: the data is not complete yet, so devices get none of it. */
  readonly filling: boolean;
  readonly references: References;
  /** Whether a committed push pings the users it concerns, once or until their devices have acknowledged it. */
  readonly pushNotify: PushNotify;
  /** Null: the source has no schema. */
  readonly schema: StoredSchema | null;
  /** True: the source is declared in the configuration, so it survives a reset. */
  readonly configured: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** The `user_name` of the last update that gave one. */
  readonly updatedBy: string | null;
}

/** The adapter of a source that only gets pushes. */
export const NO_ADAPTER = 'none';
const POLL_INTERVAL_S = 300;
const NEVER_POLL = -1;

/** The defaults of a source. */
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
  filling: false,
  references: {},
  pushNotify: false,
  schema: null,
  configured: false,
  updatedBy: null,
};

/** Returns the poll interval; a source without an adapter is never polled. */
export function pollIntervalOf({ pollIntervalS, adapter }: SourceRecord): number {
  return pollIntervalS ?? (adapter === NO_ADAPTER ? NEVER_POLL : POLL_INTERVAL_S);
}

/** Reads a record. Attributes that did not exist when it was written get their defaults. */
export function readSourceRecord(text: string): SourceRecord {
  return { ...PLAIN_SOURCE, ...(parseJson(text) as SourceRecord) };
}

export function writeSourceRecord(record: SourceRecord): string {
  return JSON.stringify(record);
}
