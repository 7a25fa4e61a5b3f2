import type { SeenState, Tidemark } from '@tidemark/core';
import type { JsonValue, WriteReport } from '@tidemark/protocol';
import type { ModelPartition } from './partition.ts';
import { callOf } from './partition.ts';

export type Attributes = Readonly<Record<string, JsonValue>>;
export type ObjectsGiven = Readonly<Record<string, Attributes>>;

/** A write as the server and the oracle get it. */
export type Write =
  | { readonly kind: 'push_objects'; readonly partition: ModelPartition; readonly objects: ObjectsGiven }
  | { readonly kind: 'push_deletes'; readonly partition: ModelPartition; readonly ids: readonly string[] }
  | { readonly kind: 'fast_insert'; readonly partition: ModelPartition; readonly objects: ObjectsGiven }
  | {
      readonly kind: 'fast_update';
      readonly partition: ModelPartition;
      readonly deleteData: ObjectsGiven;
      readonly data: ObjectsGiven;
    }
  | { readonly kind: 'fast_delete'; readonly partition: ModelPartition; readonly data: ObjectsGiven }
  | {
      readonly kind: 'replace';
      readonly partition: ModelPartition;
      readonly objects: ObjectsGiven;
      /** The query whose answer this is; null: an administrator sets md directly. */
      readonly query: Query | null;
    };

/** A query that the backend is answering. */
export interface Query {
  /** What the server returned when the query began; it gets it back unchanged. */
  readonly since: unknown;
  /** The oracle's time when the query began. */
  readonly time: number;
}

export function performWrite(tidemark: Tidemark, write: Write): Promise<WriteReport> {
  const call = callOf(write.partition);
  switch (write.kind) {
    case 'push_objects':
      return tidemark.objects.push({ ...call, objects: write.objects });
    case 'push_deletes':
      return tidemark.objects.pushDeletes({ ...call, objects: write.ids });
    case 'fast_insert':
      return tidemark.objects.fastInsert({ ...call, objects: write.objects });
    case 'fast_update':
      return tidemark.objects.fastUpdate({ ...call, delete_data: write.deleteData, data: write.data });
    case 'fast_delete':
      return tidemark.objects.fastDelete({ ...call, data: write.data });
    case 'replace':
      return tidemark.objects.replace({
        ...call,
        objects: write.objects,
        since: (write.query?.since ?? null) as SeenState | null,
      });
  }
}
