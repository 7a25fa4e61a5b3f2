import { ownersOf } from '../state/group-rows.ts';
import type { Pause } from '../state/in-steps.ts';
import type { Change, LocalState } from '../state/local-state.ts';
import type { SourceRow, UploadRow } from '../state/rows.ts';
import { sameJson } from '../state/same-json.ts';
import { Pending } from './pending.ts';
import { SourceView } from './source-view.ts';

/** The views of all sources, over one state and the uploads that are not part of its objects yet. */
export class Views {
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
      if (this.#views.has(source)) continue;
      const view = this.#add(source);
      await view.make(pause);
      this.#unmade.delete(view);
    }
  }

  /** Takes over what has changed. Returns the views in which the app sees it, whose listeners are to be told. */
  update(changes: readonly Change[]): readonly SourceView[] {
    for (const { table, before, after } of changes) {
      if (table !== 'uploads') continue;
      if (before !== undefined) this.#pending.remove(before as UploadRow);
      if (after !== undefined) this.#pending.add(after as UploadRow);
    }
    return [...this.#views].flatMap(([source, view]) => (updateView(view, source, changes) ? [view] : []));
  }

  tellAll(): void {
    for (const view of this.#views.values()) view.tell();
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

/** True for links and declared references, which may concern any object. */
function concernsAll(source: string, { table, key, before, after }: Change): boolean {
  if (table === 'links') return true;
  if (table !== 'sources' || key[0] !== '' || key[1] !== source) return false;
  const referencesOf = (row: unknown) => (row as SourceRow | undefined)?.description.references ?? {};
  return !sameJson(referencesOf(before), referencesOf(after));
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
