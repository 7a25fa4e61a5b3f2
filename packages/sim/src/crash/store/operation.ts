import type { JsonValue } from '@tidemark/protocol';
import type { TokenWords } from './token-words.ts';

/** Everybody's partition, or that of the writer's own user. */
export type Room = 'shared' | 'own';

/** Many objects in few words; `unfoldBunch` says which. */
export interface Bunch {
  readonly first: number;
  readonly count: number;
  readonly salt: number;
}

export type DocumentRoom = 'server' | 'shared' | 'user' | 'client';

export type DocumentContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'objects'; readonly objects: Bunch };

export interface Measurement {
  readonly metric: string;
  readonly minute: number;
  readonly value: number;
}

export type ObjectsOperation =
  | { readonly kind: 'push_objects'; readonly room: Room; readonly objects: Bunch }
  | { readonly kind: 'push_deletes'; readonly room: Room; readonly objects: Bunch }
  | { readonly kind: 'fast_insert'; readonly room: Room; readonly objects: Bunch }
  | { readonly kind: 'fast_update'; readonly room: Room; readonly remove: Bunch; readonly put: Bunch }
  | { readonly kind: 'fast_delete'; readonly room: Room; readonly remove: Bunch }
  /** Only in the writer's own partition: everybody else's objects would go. */
  | { readonly kind: 'replace'; readonly room: 'own'; readonly objects: Bunch };

export interface DocumentOperation {
  readonly kind: 'set_document' | 'append_document';
  readonly where: DocumentRoom;
  readonly content: DocumentContent;
}

export type RegistryOperation =
  | { readonly kind: 'declare_source'; readonly room: Room }
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

/** Brutal: without asking what devices still need. */
export interface TrimOperation {
  readonly kind: 'trim';
  readonly room: Room;
  readonly isBrutal: boolean;
}

export interface PullOperation {
  readonly kind: 'pull';
  readonly room: Room;
  readonly token: string | null;
  readonly objectsMax: number;
}

/** Something a writer does, as data: the worker carries it out, the oracle works out what it must lead to. */
export type Operation =
  | ObjectsOperation
  | DocumentOperation
  | RegistryOperation
  | StatsOperation
  | TrimOperation
  | PullOperation;

/** What the server answered. */
export type Answer =
  | { readonly kind: 'written'; readonly changed: number; readonly seq: number }
  | { readonly kind: 'trimmed'; readonly floor: number }
  /** With the tidemark that could be read when the pull was noted; null: there was none. */
  | { readonly kind: 'page'; readonly text: string; readonly mark: TokenWords | null }
  | { readonly kind: 'done' };

/** More changes than one message to the writer thread takes. */
export const BATCH_OBJECTS = { least: 2_001, most: 3_000 } as const;

export function isAboutObjects(operation: Operation): operation is ObjectsOperation {
  return bunchesOf(operation).length > 0;
}

/** The bunches of objects an operation names. */
export function bunchesOf(operation: Operation): readonly Bunch[] {
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
  return bunchesOf(operation).some(({ count }) => count >= BATCH_OBJECTS.least);
}
