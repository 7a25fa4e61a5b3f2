import type { History } from '../runner/simulation.ts';

/**
 * `Order` belongs to users and its backend takes uploads; `Visit` and `Task` belong to groups, and `Task` has that backend,
 * too. `Trip` belongs to groups and is refreshed at every pull.
 */
export const SOURCES = ['Order', 'Visit', 'Task', 'Trip'] as const;
export type SourceName = (typeof SOURCES)[number];
export type WrittenSource = Exclude<SourceName, 'Trip'>;
export const WRITTEN_SOURCES: readonly WrittenSource[] = ['Order', 'Visit', 'Task'];
export type GroupSource = 'Visit' | 'Task';

export const GROUPS = ['a', 'b', 'c'] as const;
/** More groups than one answer tells of. They sort before the others. */
export const MANY_GROUPS: readonly string[] = Array.from(
  { length: 120 },
  (_, index) => `Z${String(index).padStart(3, '0')}`,
);
export const USERS = ['ada', 'bob'] as const;
/** The user of each device. The first device has two tabs. */
export const DEVICE_USERS = ['ada', 'ada', 'bob'] as const;
export const TABBED_DEVICE = 0;
/** It keeps its sources on the disk. */
export const DISK_DEVICE = 2;
export const TABS = 2;

/** Ids that devices change, and ids that only the backend changes, moves and deletes. */
export const SHARED_IDS = ['u1', 'u2', 'u3'] as const;
export const MOVED_IDS = ['m1', 'm2'] as const;

export type Attributes = Readonly<Record<string, unknown>>;
export type Objects = ReadonlyMap<string, Attributes>;

/** Where the data of an object belongs. */
export interface Owner {
  readonly source: SourceName;
  readonly group: string | null;
  readonly user: string | null;
}

const ATTRIBUTE = 'by_device_';

/** The attribute that only this device writes. */
export function attributeOf(device: number): string {
  return `${ATTRIBUTE}${device}`;
}

export function isOfDevice(attribute: string): boolean {
  return attribute.startsWith(ATTRIBUTE);
}

interface OfDevice {
  readonly device: number;
  readonly tab: number;
}

export type Step =
  /** Writes to the group, or to both users for a source of users. */
  | { readonly kind: 'put'; readonly source: WrittenSource; readonly group: string; readonly id: string }
  | { readonly kind: 'remove'; readonly source: WrittenSource; readonly group: string; readonly id: string }
  | {
      readonly kind: 'move';
      readonly source: GroupSource;
      readonly group: string;
      readonly to: string;
      readonly id: string;
    }
  | { readonly kind: 'join' | 'leave'; readonly user: string; readonly group: string }
  | { readonly kind: 'join_many'; readonly user: string; readonly failing: number }
  | ({ readonly kind: 'create'; readonly source: WrittenSource; readonly pick: number } & OfDevice)
  | ({ readonly kind: 'update'; readonly source: WrittenSource; readonly pick: number } & OfDevice)
  /** A device that is new creates an object before it has pulled anything. */
  | { readonly kind: 'create_before_sync'; readonly device: number; readonly source: WrittenSource }
  | ({ readonly kind: 'follow'; readonly source: GroupSource; readonly groups: readonly string[] | null } & OfDevice)
  | ({ readonly kind: 'sync' | 'offline' | 'online' } & OfDevice)
  | { readonly kind: 'backend'; readonly isDown: boolean }
  /** Events tell of changes with pages, or without. */
  | { readonly kind: 'events'; readonly havePages: boolean }
  | { readonly kind: 'run_jobs' }
  | { readonly kind: 'open_tab' | 'close_tab' | 'kill_tab' | 'freeze_tab' | 'thaw_tab'; readonly tab: number }
  | { readonly kind: 'restart'; readonly device: number; readonly isKilled: boolean }
  /** A program signs in, synchronises once and ends. */
  | { readonly kind: 'sync_once'; readonly user: string }
  | { readonly kind: 'wipe'; readonly device: number }
  | { readonly kind: 'replace_user'; readonly user: string }
  | { readonly kind: 'pass'; readonly ms: number }
  /** Sets the next version of the schema of a source: at once, or in the middle of the next push or call to the backend. */
  | {
      readonly kind: 'version';
      readonly source: SourceName;
      readonly during: 'push' | 'ask' | null;
      readonly turns: number;
      readonly converts: boolean;
    }
  /** Converts objects, and perhaps stops before all is done. `between` happens before the partition of that number. */
  | {
      readonly kind: 'convert';
      readonly stopsAfter: number | null;
      readonly between: readonly { readonly at: number; readonly step: BetweenStep }[];
    }
  /** A tab or process of a device ends, and the app of the newest version takes its place. */
  | ({ readonly kind: 'update_app'; readonly isKilled: boolean } & OfDevice)
  /** Removes the attribute of the device. */
  | ({ readonly kind: 'clear'; readonly source: WrittenSource; readonly pick: number } & OfDevice)
  /** Checks what devices show that listen and have nothing to do. */
  | { readonly kind: 'look' };

/** What may happen while objects are converted. */
export type BetweenStep = Extract<Step, { readonly kind: 'put' | 'remove' | 'move' | 'update' | 'clear' }>;

export interface SdkHistory extends History<Step> {
  /** Whether each device listens to events. */
  readonly areLive: readonly boolean[];
  /** True: sources get new versions of their schemas. */
  readonly hasVersions: boolean;
}
