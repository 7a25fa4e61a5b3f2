import type { History } from '../runner/simulation.ts';

/** Sources of groups: one without a backend, one whose backend decides about uploads, one that is refreshed at every pull. */
export const SOURCES = ['Visit', 'Task', 'Trip'] as const;
export type SourceName = (typeof SOURCES)[number];
/** The sources that get pushes. The objects of `Trip` come from its backend. */
export type PushedSource = Exclude<SourceName, 'Trip'>;
export const PUSHED_SOURCES: readonly PushedSource[] = ['Visit', 'Task'];

export const GROUPS = ['a', 'b', 'c', 'd'] as const;
/** So many groups that one answer cannot tell of all of them. They sort before the others. */
export const MANY_GROUPS: readonly string[] = Array.from(
  { length: 120 },
  (_, index) => `Z${String(index).padStart(3, '0')}`,
);
export const IDS = ['1', '2', '3', '4'] as const;
export const USERS = ['ada', 'bob'] as const;
/** The user of each device. */
export const DEVICE_USERS = ['ada', 'ada', 'bob'] as const;

/** Something that happens on the server, alone or in the middle of another call. */
export type Change =
  | {
      readonly kind: 'put';
      readonly source: PushedSource;
      readonly group: string;
      readonly id: string;
      readonly name: 'x' | 'y';
    }
  | { readonly kind: 'delete'; readonly source: PushedSource; readonly group: string; readonly id: string }
  | Move
  | { readonly kind: 'join' | 'leave'; readonly user: string; readonly group: string }
  | { readonly kind: 'replace_user'; readonly user: string }
  | { readonly kind: 'wipe'; readonly device: number };

export interface Move {
  readonly kind: 'move';
  readonly source: PushedSource;
  readonly group: string;
  readonly to: string;
  readonly ids: readonly string[];
}

/** Where a call can be interrupted: after a call of the store, or while the backend thinks. */
export const MOMENTS = ['changedSince', 'readObjects', 'commit', 'partition', 'backend'] as const;
export type Moment = (typeof MOMENTS)[number];

/** Changes in the middle of a call. */
export interface Meanwhile {
  readonly at: Moment;
  /** How many calls of that kind pass before. */
  readonly skips: number;
  readonly changes: readonly Change[];
}

export interface PushStep {
  readonly kind: 'push';
  readonly device: number;
  readonly source: PushedSource;
  readonly group: string;
  readonly id: string;
  readonly op: 'create' | 'update' | 'delete';
  /** What the backend says, where there is one. */
  readonly isAccepted: boolean;
  readonly meanwhile: Meanwhile | null;
}

export interface PullStep {
  readonly kind: 'pull';
  readonly device: number;
  readonly objectsMax: number;
  /** How often the answer arrives. */
  readonly times: number;
  readonly meanwhile: Meanwhile | null;
}

export type Step =
  | Change
  | (Move & { readonly meanwhile: Meanwhile | null })
  | PushStep
  | PullStep
  /** Pulls until there is no more, and says nothing afterwards unless it `confirms` what it holds by another pull. */
  | { readonly kind: 'sync_once'; readonly device: number; readonly confirms: boolean }
  | { readonly kind: 'acknowledge'; readonly device: number }
  | { readonly kind: 'join_many'; readonly user: string }
  | { readonly kind: 'backend_put'; readonly group: string; readonly id: string }
  /** The backend fails for these groups from now on, and for no other. */
  | { readonly kind: 'backend_fails'; readonly groups: readonly string[] }
  /** Compares receipts and explanations of the device with what it holds. */
  | { readonly kind: 'explain'; readonly device: number };

/** A page with more objects than a history has. */
export const LARGE_PAGE = 1_000;

export interface GroupHistory extends History<Step> {
  /** Whether each device uses set tokens. */
  readonly usesSets: readonly boolean[];
  /** The page size while devices catch up at the end. */
  readonly objectsMax: number;
}
