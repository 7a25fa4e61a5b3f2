/**
 * A history is data: everything that will be tried, decided in advance from the seed. Where a step depends on what there
 * is when it runs (which object, which held call), it carries a number that chooses. So any step can be left out and the
 * rest still means something, which is what shrinking needs.
 */
export interface UploadHistory {
  readonly seed: number;
  /** The users of the devices. */
  readonly devices: readonly string[];
  /** Places in `SOURCES`: those that anything happens to. */
  readonly sources: readonly number[];
  readonly backend: BackendPolicy;
  readonly steps: readonly UploadStep[];
}

export interface BackendPolicy {
  /** Whether created objects keep the id of the device. `mixed`: some do. */
  readonly ids: 'keep' | 'rename' | 'mixed';
  /** How often the backend pushes an object before it answers the upload that changed it, in percent. */
  readonly pushPercent: number;
}

/** What may happen to calls of the backend, in percent; the others are answered at once. */
export interface Weather {
  /** Refused without an effect. */
  readonly down: number;
  /** Done, and the answer is lost. */
  readonly lost: number;
  /** Held back before it is done. */
  readonly heldBefore: number;
  /** Done, and the answer is held back. */
  readonly heldAfter: number;
}

export type UploadStep = UploadDeed & {
  /** Decides how promptly the store answers during the step. */
  readonly jitter: number;
};

export type UploadDeed =
  | ({ readonly kind: 'edit'; readonly device: number } & Edit)
  /** Sends all that has no answer yet; the device stops waiting for earlier pushes. */
  | { readonly kind: 'push'; readonly device: number; readonly times: number; readonly acknowledges: boolean }
  | { readonly kind: 'pull'; readonly device: number; readonly acknowledges: boolean }
  | { readonly kind: 'weather'; readonly weather: Weather }
  /** Lets go of one held call. */
  | { readonly kind: 'release'; readonly pick: number; readonly isAnswered: boolean }
  | { readonly kind: 'run_jobs'; readonly count: number }
  | { readonly kind: 'time_passes'; readonly ms: number }
  | {
      readonly kind: 'office_edit';
      readonly source: number;
      readonly user: number;
      readonly pick: number;
      readonly op: 'make' | 'change' | 'delete';
      readonly isPushed: boolean;
    }
  /** Somebody else gets the login, and registers devices of the same ids. */
  | { readonly kind: 'replace_user'; readonly user: number }
  /** The server dies with everything that was under way, and another one starts on the same store. */
  | { readonly kind: 'crash' };

export interface Edit {
  readonly op: 'create' | 'update' | 'delete';
  readonly source: number;
  /** Chooses the object to change. */
  readonly pick: number;
  /** Whether an object that the backend has renamed is still called by its temporary id. */
  readonly usesOldId: boolean;
  /** Of a create: a natural key, which others may have taken; null: an id of its own. */
  readonly key: number | null;
  /** Chooses an object to refer to; null: none. */
  readonly reference: number | null;
  /** The backend will refuse it. */
  readonly isBad: boolean;
}

export const USERS = ['ada', 'bob'] as const;

export interface SourceSpec {
  readonly name: string;
  readonly isShared: boolean;
  readonly queue: string | null;
  readonly refersTo: string | null;
}

export const QUEUE = 'office';

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

/** One set of objects: those of a source and, unless it is shared, of a user. */
export interface Space {
  readonly source: string;
  readonly user: string | null;
}

export const SPACES: readonly Space[] = SOURCES.flatMap(({ name: source, isShared }): Space[] =>
  isShared ? [{ source, user: null }] : USERS.map((user) => ({ source, user })),
);

export function spaceOf(source: string, user: string): Space {
  const isShared = SOURCES.some(({ name, isShared: shared }) => name === source && shared);
  return { source, user: isShared ? null : user };
}

export function spaceKey({ source, user }: Space): string {
  return `${source}/${user ?? '*'}`;
}
