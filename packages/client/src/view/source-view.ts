import { sameJson } from '@tidemark/protocol';
import type { ObjectEdit } from '../state/app-versions.ts';
import { frozen } from '../state/frozen.ts';
import { ownersOf } from '../state/group-rows.ts';
import { inSteps, type Pause, sortInSteps } from '../state/in-steps.ts';
import type { LocalState } from '../state/local-state.ts';
import type { Attributes, SourceRow, UploadRow } from '../state/rows.ts';
import { type References, realId, referencesOf, withRealReferences } from '../uploads/links.ts';
import { changed } from '../uploads/merge-upload.ts';
import { Listeners } from './observable.ts';
import { isOpen, type Pending } from './pending.ts';

/** An object as the app sees it. It is immutable: each change creates a new one. */
export interface SyncedObject<A = Attributes> {
  readonly id: string;
  readonly attributes: A;
  /** True if it contains unconfirmed changes. */
  readonly isPending: boolean;
  /** The groups that have it, sorted. Absent: the data of the source does not belong to groups. */
  readonly groups?: readonly string[];
}

/** An object before and after a change; undefined: it did not exist. */
export interface ViewChange {
  readonly id: string;
  readonly before: SyncedObject | undefined;
  readonly after: SyncedObject | undefined;
}

/** Follows a view. It is called before any listener, when other views may not be updated yet. */
export interface ViewFollower {
  /** Takes over what an update has changed. */
  change(changes: readonly ViewChange[]): void;
  /** Prepares for changes of the objects that arrive in a first sync, which the app does not see yet. */
  prepare(changes: readonly ViewChange[]): void;
  /** Shows what is prepared: the objects of the view are those that arrived. */
  reveal(): void;
}

/** What an update looks up once for all objects. */
interface Lookup {
  /** The stored objects by id; undefined: there are none, or the app does not see them. */
  readonly objects: ReadonlyMap<string, unknown> | undefined;
  /** The groups that have each object; undefined: the data of the source does not belong to groups. */
  readonly owners: ReadonlyMap<string, unknown> | undefined;
  readonly references: References;
  /** True during a first sync that the app is to see when it is complete. */
  readonly isHidden: boolean;
  /** True if the source has no references and no groups, and the app knows its version, so that stored attributes are shown as they are. */
  readonly isPlain: boolean;
  readonly row: SourceRow | undefined;
}

/** The view of one source. It is updated incrementally: a change costs only what it touches. */
export class SourceView {
  readonly #state: LocalState;
  readonly #pending: Pending;
  readonly #source: string;
  #objects = new Map<string, SyncedObject>();
  /**
   * The objects as the app sees them once the first sync is complete; null: nothing is hidden. They are made as they arrive,
   * since making all of them when they are shown would hold the thread for long.
   */
  #arriving: Map<string, SyncedObject> | null = null;
  readonly #listeners = new Listeners();
  /** Calls the listener after every change that the app sees. Returns the unsubscribe function. */
  readonly subscribe = this.#listeners.add;
  readonly #followers = new Set<ViewFollower>();
  #list: readonly SyncedObject[] | null = null;

  constructor(state: LocalState, pending: Pending, source: string) {
    this.#state = state;
    this.#pending = pending;
    this.#source = source;
    if (this.#lookup().isHidden) this.#arriving = new Map();
  }

  /** Makes the objects of a new view in steps, sorted, so that a list of them takes no sorting. Updates may come between them. */
  async make(pause: Pause): Promise<void> {
    const stored = this.#state.group('objects', this.#source)?.keys() ?? [];
    const unsorted = [...stored, ...this.#pending.idsOf(this.#source)];
    const ids = await sortInSteps(unsorted, pause, (left, right) => (left < right ? -1 : 1));
    await inSteps(ids.length, pause, (from, to) => void this.update(ids.slice(from, to)));
  }

  get(id: string): SyncedObject | undefined {
    return this.#objects.get(id) ?? this.#objects.get(realId(this.#state, this.#source, id));
  }

  isLoaded(): boolean {
    return true;
  }

  load(): Promise<void> {
    return Promise.resolve();
  }

  /** Sorted by id; the same list until something changes. */
  list(): readonly SyncedObject[] {
    this.#list ??= Object.freeze([...this.#objects.values()].sort((left, right) => (left.id < right.id ? -1 : 1)));
    return this.#list;
  }

  async *parts(): AsyncGenerator<readonly SyncedObject[]> {
    yield this.list();
  }

  async size(): Promise<number> {
    return this.#objects.size;
  }

  /** All objects, in no particular order. */
  objects(): Iterable<SyncedObject> {
    return this.#objects.values();
  }

  /** The objects as they will be when the first sync is complete, in no particular order. */
  arriving(): Iterable<SyncedObject> {
    return (this.#arriving ?? this.#objects).values();
  }

  follow(follower: ViewFollower): void {
    this.#followers.add(follower);
  }

  /** Tells the listeners that something has changed. */
  tell(): void {
    this.#listeners.notify();
  }

  /** Updates these objects. Returns true if the app sees a change. */
  update(ids: Iterable<string>): boolean {
    const lookup = this.#lookup();
    if (lookup.isHidden) {
      if (this.#arriving === null) {
        this.#arriving = new Map();
        return this.updateAll();
      }
      const isChanged = this.#show(this.#updateIn(this.#objects, ids, { ...lookup, objects: undefined }));
      this.#prepare(this.#arriving, ids, lookup);
      return isChanged;
    }
    return this.#arriving === null
      ? this.#show(this.#updateIn(this.#objects, ids, lookup))
      : this.#reveal(this.#arriving, ids, lookup);
  }

  /** Updates all objects. */
  updateAll(): boolean {
    const ids = new Set([...this.#objects.keys(), ...this.#pending.idsOf(this.#source)]);
    for (const id of this.#arriving?.keys() ?? []) ids.add(id);
    for (const [id] of this.#state.entries('objects', this.#source)) ids.add(id);
    return this.update(ids);
  }

  #show(changes: readonly ViewChange[]): boolean {
    if (changes.length === 0) return false;
    if (this.#list !== null) this.#list = relisted(this.#list, changes);
    for (const follower of this.#followers) follower.change(changes);
    return true;
  }

  #prepare(arriving: Map<string, SyncedObject>, ids: Iterable<string>, lookup: Lookup): void {
    const changes = this.#updateIn(arriving, ids, lookup);
    if (changes.length > 0) for (const follower of this.#followers) follower.prepare(changes);
  }

  #reveal(arriving: Map<string, SyncedObject>, ids: Iterable<string>, lookup: Lookup): boolean {
    this.#prepare(arriving, ids, lookup);
    const shown = this.#objects;
    this.#objects = arriving;
    this.#arriving = null;
    if (shown.size === arriving.size && [...shown].every(([id, object]) => arriving.get(id) === object)) return false;
    this.#list = null;
    for (const follower of this.#followers) follower.reveal();
    return true;
  }

  #lookup(): Lookup {
    const row = this.#state.get('sources', ['', this.#source]);
    const objects = this.#state.group('objects', this.#source);
    const owners = this.#state.group('objects', ownersOf(this.#source));
    const { versions } = this.#state;
    const references = referencesOf(row, versions);
    const isSame = versions === null || versions.isSame(row);
    const isPlain = isSame && owners === undefined && Object.keys(references).length === 0;
    return { objects, owners, references, isHidden: row?.staging?.firstSync === 'hidden', isPlain, row };
  }

  /** Computes these objects anew. Returns those that differ. */
  #updateIn(objects: Map<string, SyncedObject>, ids: Iterable<string>, lookup: Lookup): readonly ViewChange[] {
    const changes: ViewChange[] = [];
    for (const id of ids) {
      const before = objects.get(id);
      // An object that the app sees already stays the same one when those that arrived are shown.
      const after = sameAs(this.#objects.get(id), sameAs(before, this.#compute(id, lookup)));
      if (before === after) continue;
      if (after === undefined) objects.delete(id);
      else objects.set(id, after);
      changes.push({ id, before, after });
    }
    return changes;
  }

  #compute(id: string, { objects, owners, references, isPlain, row }: Lookup): SyncedObject | undefined {
    const uploads = this.#pending.of(this.#source, id);
    const known = objects?.get(id) as Attributes | undefined;
    const { versions } = this.#state;
    const stored = known === undefined || versions === null ? known : versions.shown(row, known);
    if (isPlain && uploads.length === 0) {
      return stored && Object.freeze({ id, attributes: frozen(stored), isPending: false });
    }
    const groups = (owners?.get(id) as { readonly groups: readonly string[] } | undefined)?.groups;
    return shownObject({ id, stored, groups }, uploads, { state: this.#state, row, references });
  }
}

/** An object as it is stored; without attributes if it does not exist. */
export interface StoredState {
  readonly id: string;
  readonly stored: Attributes | undefined;
  readonly groups: readonly string[] | undefined;
}

/** What the app sees depends on. */
interface Shown {
  readonly state: LocalState;
  readonly row: SourceRow | undefined;
  readonly references: References;
}

/** Returns the object as the app sees it: as it is stored, in the version of the app, with the uploads applied. */
export function shownObject(
  { id, stored, groups: held }: StoredState,
  uploads: readonly UploadRow[],
  { state, row, references }: Shown,
): SyncedObject | undefined {
  const seen = overlay(stored, uploads, (upload, before) => state.versions?.changeOf(row, upload, before) ?? upload);
  if (seen === undefined) return undefined;
  const attributes = frozen(withRealReferences(state, references, seen));
  const groups = held ?? uploads.flatMap(({ group }) => group ?? []).slice(0, 1);
  const isPending = uploads.some(isOpen);
  return Object.freeze(groups.length === 0 ? { id, attributes, isPending } : { id, attributes, isPending, groups });
}

/** A batch that changes more than this part of the list is sorted anew, which is faster than one by one. */
const BATCH_PART_MAX = 1 / 8;

/** Returns the list after the changes; null: it is to be sorted anew. An edit costs a copy of references and no sorting. */
function relisted(list: readonly SyncedObject[], changes: readonly ViewChange[]): readonly SyncedObject[] | null {
  if (changes.length > Math.max(1, list.length * BATCH_PART_MAX)) return null;
  const next = [...list];
  for (const { id, before, after } of changes) {
    const at = placeOf(next, id);
    next.splice(at, before === undefined ? 0 : 1, ...(after === undefined ? [] : [after]));
  }
  return Object.freeze(next);
}

/** The index of the first object whose id is not smaller, by bisection. */
function placeOf(list: readonly SyncedObject[], id: string): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.id ?? '') < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the known object if the other one equals it, otherwise the other one. */
export function sameAs(known: SyncedObject | undefined, other: SyncedObject | undefined): SyncedObject | undefined {
  return known !== undefined && other !== undefined && isSame(known, other) ? known : other;
}

function isSame(left: SyncedObject, right: SyncedObject): boolean {
  if (left === right) return true;
  if (left.isPending !== right.isPending || !sameJson(left.attributes, right.attributes)) return false;
  return left.groups === right.groups || sameJson([...(left.groups ?? [])], [...(right.groups ?? [])]);
}

/** Returns the object as the app sees it: the state of the server with the local changes applied. */
function overlay(
  base: Attributes | undefined,
  uploads: readonly UploadRow[],
  inVersionOfApp: (upload: UploadRow, seen: Attributes | undefined) => ObjectEdit,
): Attributes | undefined {
  let seen = base;
  for (const upload of uploads) {
    if (upload.op === 'delete') seen = undefined;
    // If a page brought the created object before its outcome, other devices may have added attributes.
    else if (upload.op === 'create' || seen !== undefined) seen = changed(seen, inVersionOfApp(upload, seen));
  }
  return seen;
}
