import type { History } from '../runner/simulation.ts';

export const USERS = ['ada', 'bob', 'cid'] as const;
export const GROUPS = ['north', 'south'] as const;
export const FILES = ['a', 'b', 'c'] as const;
export const OBJECTS = ['1', '2'] as const;
export const GRACE_MS = 86_400_000;
export const SIZE = 10;

/** Whose objects: those of a user, of a group, or of everybody. */
export type Place =
  | { readonly kind: 'user'; readonly user: string }
  | { readonly kind: 'group'; readonly group: string }
  | { readonly kind: 'all' };

/** An object that gets a reference to a file; null: it loses what it has. */
export interface Written {
  readonly place: Place;
  readonly object: string;
  readonly file: string | null;
}

/** How far the bytes of a file come before the server is killed; `whole`: it is not. */
export type Sending = 'begun' | 'arriving' | 'durable' | 'whole';

export type Action =
  | ({ readonly kind: 'push' } & Written)
  | ({ readonly kind: 'write'; readonly user: string } & Written)
  /** No user: the backend sends. */
  | { readonly kind: 'send'; readonly user: string | null; readonly file: string; readonly upTo: Sending }
  | { readonly kind: 'set_groups'; readonly user: string; readonly groups: readonly string[] }
  | { readonly kind: 'replace_user'; readonly user: string }
  | { readonly kind: 'drop_source' }
  /** A round of the collector; another action happens at the same time, and the server may be killed in a removal. */
  | {
      readonly kind: 'collect';
      readonly meanwhile: Exclude<Action, { readonly kind: 'collect' | 'time_passes' }> | null;
      readonly killAt: 'aside' | 'answer' | null;
    }
  | { readonly kind: 'time_passes'; readonly ms: number };

export type Step = Action & { readonly delaySeed: number };
export type FilesHistory = History<Step>;
