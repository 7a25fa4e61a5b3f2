import type { SourceAttributes } from '@tidemark/protocol';
import type { SchemaState } from '@tidemark/protocol/admin/sources';
import { isoTime } from '../primitives/time.ts';
import { referencesIn, schemaStateOf } from '../schemas/stored-schema.ts';
import { pollIntervalOf, type SourceRecord } from './source-record.ts';

/** A source in answers. */
export interface SourceView extends SourceAttributes {
  /** Null: it has none. */
  readonly schema: SchemaState | null;
  readonly configured: boolean;
  readonly created_at: string;
  readonly updated_at: string;
  readonly updated_by: string | null;
}

/** The same with the number of objects. */
export interface CountedSource extends SourceView {
  /** Null for a source with data of users, because counting would read every partition. */
  readonly counts: { readonly objects: number | null };
}

export function viewOf(name: string, record: SourceRecord): SourceView {
  return {
    name,
    poll_interval: pollIntervalOf(record),
    partition_type: record.partitionType,
    sync_type: record.syncType,
    queue: record.queue,
    query_queue: record.queryQueue,
    cud_queue: record.cudQueue,
    adapter: record.adapter,
    conflicts: record.conflicts,
    read_only: record.readOnly,
    filling: record.filling,
    // What the schema says about an attribute counts more than what was declared before.
    references:
      record.schema === null ? record.references : { ...record.references, ...referencesIn(record.schema.schema) },
    push_notify: record.pushNotify,
    schema: record.schema === null ? null : schemaStateOf(record.schema),
    configured: record.configured,
    created_at: isoTime(record.createdAtMs),
    updated_at: isoTime(record.updatedAtMs),
    updated_by: record.updatedBy,
  };
}
