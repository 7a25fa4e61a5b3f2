import type { JsonValue } from '@tidemark/protocol';
import type { TokenFields } from './facts.ts';

/** The partition that an operation is about: the shared one, or that of the writer's own user. */
export type Target = 'shared' | 'own';

/** Many objects of a writer in few words; `objectsInRange` returns them. */
export interface ObjectRange {
  readonly first: number;
  readonly count: number;
  /** Decides the attributes. */
  readonly seed: number;
}

export type DocumentOwner = 'server' | 'shared' | 'user' | 'client';

export type DocumentContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'objects'; readonly objects: ObjectRange };

export interface Measurement {
  readonly metric: string;
  readonly minute: number;
  readonly value: number;
}

export type ObjectsOperation =
  | { readonly kind: 'push_objects'; readonly target: Target; readonly objects: ObjectRange }
  | { readonly kind: 'push_deletes'; readonly target: Target; readonly objects: ObjectRange }
  | { readonly kind: 'fast_insert'; readonly target: Target; readonly objects: ObjectRange }
  | { readonly kind: 'fast_update'; readonly target: Target; readonly remove: ObjectRange; readonly put: ObjectRange }
  | { readonly kind: 'fast_delete'; readonly target: Target; readonly remove: ObjectRange }
  /** Only in the writer's own partition: it would delete the objects of other writers. */
  | { readonly kind: 'replace'; readonly target: 'own'; readonly objects: ObjectRange };

export interface DocumentOperation {
  readonly kind: 'set_document' | 'append_document';
  readonly owner: DocumentOwner;
  readonly content: DocumentContent;
}

export type RegistryOperation =
  | { readonly kind: 'declare_source'; readonly target: Target }
  | { readonly kind: 'create_user' }
  | { readonly kind: 'update_user'; readonly mood: JsonValue }
  | { readonly kind: 'delete_user' }
  | { readonly kind: 'register_client' }
  | { readonly kind: 'update_client'; readonly version: string }
  | { readonly kind: 'write_entries'; readonly entries: readonly EntryValue[] };

export interface EntryValue {
  readonly slot: number;
  readonly value: string | null;
}

export type StatsOperation =
  | { readonly kind: 'record_stats'; readonly values: readonly Measurement[] }
  | { readonly kind: 'trim_stats'; readonly beforeMinute: number };

export interface TrimOperation {
  readonly kind: 'trim';
  readonly target: Target;
  /** True: it ignores the positions of devices. */
  readonly isForced: boolean;
}

export interface PullOperation {
  readonly kind: 'pull';
  readonly target: Target;
  readonly token: string | null;
  readonly objectsMax: number;
}

/** An operation of a writer as data: the worker performs it, the model computes its effect. */
export type Operation =
  | ObjectsOperation
  | DocumentOperation
  | RegistryOperation
  | StatsOperation
  | TrimOperation
  | PullOperation;

/** The answer of the server. */
export type Answer =
  | { readonly kind: 'written'; readonly changed: number; readonly seq: number }
  | { readonly kind: 'trimmed'; readonly floor: number }
  /** With the tidemark that the store had right after the pull; null: none. */
  | { readonly kind: 'page'; readonly text: string; readonly mark: TokenFields | null }
  | { readonly kind: 'done' };

/** More changes than fit in one message to the writer thread. */
export const BATCH_OBJECTS = { least: 2_001, most: 3_000 } as const;

export function isAboutObjects(operation: Operation): operation is ObjectsOperation {
  return rangesOf(operation).length > 0;
}

/** Returns the ranges of objects that an operation names. */
export function rangesOf(operation: Operation): readonly ObjectRange[] {
  switch (operation.kind) {
    case 'push_objects':
    case 'push_deletes':
    case 'fast_insert':
    case 'replace':
      return [operation.objects];
    case 'fast_update':
      return [operation.remove, operation.put];
    case 'fast_delete':
      return [operation.remove];
    default:
      return [];
  }
}

export function isBatch(operation: Operation): boolean {
  return rangesOf(operation).some(({ count }) => count >= BATCH_OBJECTS.least);
}
