import { sameJson } from '@tidemark/protocol';
import { ownersOf } from '../state/group-rows.ts';
import type { Pause } from '../state/in-steps.ts';
import type { Change, LocalState, Transaction } from '../state/local-state.ts';
import type { SourceRow, UploadRow } from '../state/rows.ts';
import { Pending } from './pending.ts';
import { SourceView, type SyncedObject } from './source-view.ts';

/** The objects of a source as the app sees them, in memory or on the disk. */
export interface ObjectView {
  readonly subscribe: (listener: () => void) => () => void;
  /** Undefined: there is none, or it is not loaded. */
  get(id: string): SyncedObject | undefined;
  /** All objects, sorted by id. Throws if they are not in memory. */
  list(): readonly SyncedObject[];
  /** Yields all objects in parts, wherever they are, in no particular order. Changes between two parts may be missed. */
  parts(): AsyncIterable<readonly SyncedObject[]>;
  /** How many objects the app sees. */
  size(): Promise<number>;
  /** True if `get` knows whether there is such an object. */
  isLoaded(id: string): boolean;
  /** Resolves when `get` knows these objects. */
  load(ids: readonly string[]): Promise<void>;
  tell(): void;
}

/** The view of a source on the disk. */
export interface ViewOnDisk extends ObjectView {
  /** Takes over what a transaction has changed. Returns true if the app sees it. */
  take(changes: readonly Change[], tx: Transaction | undefined): boolean;
}

/** Makes the view of a source on the disk. */
export type MakeViewOnDisk = (source: string, pending: Pending) => ViewOnDisk;

/** The views of all sources, over one state and the uploads that are not part of its objects yet. */
export class Views {
  readonly #onDisk = new Map<string, ViewOnDisk>();
  readonly #state: LocalState;
  readonly #pending = new Pending();
  readonly #views = new Map<string, SourceView>();
  /** Views that may lack objects. */
  readonly #unmade = new Set<SourceView>();

  constructor(state: LocalState) {
    this.#state = state;
    this.addStored();
  }

  /** Uploads without a final outcome. */
  get uploadsOpen(): number {
    return this.#pending.open;
  }

  get isEmpty(): boolean {
    return this.#views.size === 0;
  }

  /** The view of a source, wherever its objects are. */
  any(source: string): ObjectView {
    return this.#onDisk.get(source) ?? this.of(source);
  }

  /** Makes the view of a source on the disk, in place of the one in memory. */
  putOnDisk(source: string, make: MakeViewOnDisk): void {
    this.#forget(source);
    this.#onDisk.set(source, make(source, this.#pending));
  }

  /** The objects of the source are in memory from now on. */
  takeFromDisk(source: string): void {
    this.#onDisk.delete(source);
  }

  of(source: string): SourceView {
    const view = this.#views.get(source) ?? this.#add(source);
    if (this.#unmade.delete(view)) view.updateAll();
    return view;
  }

  /** Goes on with the uploads of a state that is new to the views. */
  addStored(): void {
    for (const [, upload] of this.#state.entries('uploads', '')) this.#pending.add(upload);
  }

  /**
   * Makes the views of all stored sources in steps. To make one when the app asks for it would take long; one that it asks for
   * between two steps is made at once.
   */
  async make(pause: Pause): Promise<void> {
    for (const [source] of [...this.#state.entries('sources', '')]) {
      if (this.#views.has(source) || this.#onDisk.has(source)) continue;
      const view = this.#add(source);
      await view.make(pause);
      this.#unmade.delete(view);
    }
  }

  /** Takes over what has changed. Returns the views in which the app sees it, whose listeners are to be told. */
  update(changes: readonly Change[], tx?: Transaction): readonly ObjectView[] {
    for (const { table, before, after } of changes) {
      if (table !== 'uploads') continue;
      if (before !== undefined) this.#pending.remove(before as UploadRow);
      if (after !== undefined) this.#pending.add(after as UploadRow);
    }
    const inMemory = [...this.#views].filter(([source, view]) => updateView(view, source, changes));
    const onDisk = [...this.#onDisk].filter(([, view]) => view.take(changes, tx));
    return [...inMemory, ...onDisk].map(([, view]) => view);
  }

  tellAll(): void {
    for (const view of [...this.#views.values(), ...this.#onDisk.values()]) view.tell();
  }

  #forget(source: string): void {
    const view = this.#views.get(source);
    if (view !== undefined) this.#unmade.delete(view);
    this.#views.delete(source);
  }

  #add(source: string): SourceView {
    const view = new SourceView(this.#state, this.#pending, source);
    this.#views.set(source, view);
    this.#unmade.add(view);
    return view;
  }
}

/** Updates the view of a source by the changes that concern it. Returns true if the app sees a change. */
function updateView(view: SourceView, source: string, changes: readonly Change[]): boolean {
  const ids = new Set<string>();
  for (const change of changes) {
    if (concernsAll(source, change)) return view.updateAll();
    addIds(ids, source, change);
  }
  return view.update(ids);
}

/** True for links, declared references and versions of the schema, which may concern any object. */
function concernsAll(source: string, { table, key, before, after }: Change): boolean {
  if (table === 'links') return true;
  if (table !== 'sources' || key[0] !== '' || key[1] !== source) return false;
  return !sameJson(meaningOf(before), meaningOf(after));
}

function meaningOf(row: unknown) {
  const { description, form = null } = (row as SourceRow | undefined) ?? {};
  const { references = {}, schema = null } = description ?? {};
  return { references, schema, form: form && { ...form } };
}

/** Adds the ids of the objects of the source that the change concerns. */
function addIds(ids: Set<string>, source: string, { table, key, before, after }: Change): void {
  if (table === 'objects') {
    if (key[0] === source || key[0] === ownersOf(source)) ids.add(key[1]);
  } else if (table === 'uploads') {
    for (const row of [before, after] as readonly (UploadRow | undefined)[])
      if (row?.source === source) ids.add(row.id);
  }
}
