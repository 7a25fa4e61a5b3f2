import type { ModelPartition } from '../model/partition.ts';
import type { History } from '../runner/simulation.ts';

/** A history of devices that upload to a backend, of the jobs that carry the uploads, and of faults on the way. */
export interface UploadsHistory extends History<Step> {
  /** The users of the devices. */
  readonly devices: readonly string[];
  /** Indexes in `SOURCES`: the sources that this history uses. */
  readonly sources: readonly number[];
  readonly backend: BackendPolicy;
}

export interface BackendPolicy {
  /** Whether created objects keep the id of the device. `mixed`: some do. */
  readonly ids: 'keep' | 'rename' | 'mixed';
  /** How often the backend pushes an object before it answers the upload that changed it, in percent. */
  readonly pushPercent: number;
}

/** What goes wrong with calls to the backend, in percent; the others are answered at once. */
export interface FaultRates {
  /** The call fails without an effect. */
  readonly down: number;
  /** The call succeeds, and the answer is lost. */
  readonly lost: number;
  /** The call is held before the backend performs it. */
  readonly heldBefore: number;
  /** The call succeeds, and its answer is held. */
  readonly heldAfter: number;
}

export type Step = Action & {
  /** Decides how long each call of the store takes during the step. */
  readonly delaySeed: number;
};

export type Action =
  | ({ readonly kind: 'edit'; readonly device: number } & Edit)
  /** Sends all uploads without an answer; the device stops waiting for earlier pushes. */
  | { readonly kind: 'push'; readonly device: number; readonly times: number; readonly acknowledges: boolean }
  | { readonly kind: 'pull'; readonly device: number; readonly acknowledges: boolean }
  | { readonly kind: 'set_faults'; readonly faults: FaultRates }
  /** Releases one held call. */
  | { readonly kind: 'release'; readonly pick: number; readonly isAnswered: boolean }
  | { readonly kind: 'run_jobs'; readonly count: number }
  | { readonly kind: 'time_passes'; readonly ms: number }
  | {
      readonly kind: 'backend_edit';
      readonly source: number;
      readonly user: number;
      readonly pick: number;
      readonly op: 'make' | 'change' | 'delete';
      readonly isPushed: boolean;
    }
  /** Another person gets the login and registers devices with the same ids. */
  | { readonly kind: 'replace_user'; readonly user: number }
  /** The server is killed with everything it was doing, and another one starts on the same store. */
  | { readonly kind: 'crash' };

export interface Edit {
  readonly op: 'create' | 'update' | 'delete';
  readonly source: number;
  /** Chooses the object to change. */
  readonly pick: number;
  /** True: the device uses the temporary id of an object that the backend has renamed. */
  readonly usesOldId: boolean;
  /** Of a create: a natural key that others may use too; null: a temporary id. */
  readonly key: number | null;
  /** Chooses an object to refer to; null: none. */
  readonly reference: number | null;
  /** True: the backend refuses it. */
  readonly isBad: boolean;
}

export const USERS = ['ada', 'bob'] as const;

export interface SourceSpec {
  readonly name: string;
  readonly isShared: boolean;
  readonly queue: string | null;
  readonly refersTo: string | null;
}

export const QUEUE = 'backend';

export const SOURCES: readonly SourceSpec[] = [
  { name: 'Plain', isShared: false, queue: null, refersTo: null },
  { name: 'Queued', isShared: false, queue: QUEUE, refersTo: null },
  { name: 'Shared', isShared: true, queue: null, refersTo: null },
  { name: 'Visit', isShared: false, queue: null, refersTo: 'Plain' },
];

export function sourceAt(pick: number): SourceSpec {
  const source = SOURCES[pick % SOURCES.length];
  if (source === undefined) throw new Error('there are no sources');
  return source;
}

export const PARTITIONS: readonly ModelPartition[] = SOURCES.flatMap(({ name: source, isShared }): ModelPartition[] =>
  isShared ? [{ source, user: null }] : USERS.map((user) => ({ source, user })),
);

export function partitionOf(source: string, user: string): ModelPartition {
  const isShared = SOURCES.some(({ name, isShared: shared }) => name === source && shared);
  return { source, user: isShared ? null : user };
}
