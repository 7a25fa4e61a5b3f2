import { clientError } from '../client-error.ts';
import type { DiskPart } from '../ports/local-store.ts';
import type { Remade } from '../state/disk-work.ts';
import { isGrouped, ownersOf } from '../state/group-rows.ts';
import type { Change, LocalState, Transaction } from '../state/local-state.ts';
import type { Attributes, SourceRow, UploadRow } from '../state/rows.ts';
import { sameJson } from '../state/same-json.ts';
import { realId, referencesOf, withRealReferences } from '../uploads/links.ts';
import { Listeners } from '../view/observable.ts';
import type { Pending } from '../view/pending.ts';
import { type SyncedObject, sameAs, shownObject } from '../view/source-view.ts';
import type { ViewOnDisk } from '../view/views.ts';
import type { ChangedHere, StoredChange } from './changes.ts';
import { type HeldObject, HeldObjects } from './held-objects.ts';

/** Follows the view of a source on the disk. It is called before any listener. */
export interface DiskFollower {
  changeStored(view: DiskView, changes: readonly StoredChange[]): void;
  /** All objects are gone, or others have taken their place. */
  remake(view: DiskView, how: Remade): void;
  /** To be called at the end of every change: what the app sees may differ. */
  refresh(): void;
  /** True if what it shows needs the object to be in memory. */
  uses(view: DiskView, id: string): boolean;
  tell(): void;
}

/** Notices what changes while the disk is read. */
export interface Reading {
  /** Objects that have changed since it began. */
  readonly changed: ReadonlyMap<string, Attributes | undefined>;
  readonly isRemade: boolean;
  end(): void;
}

interface OpenReading {
  changed: Map<string, Attributes | undefined>;
  isRemade: boolean;
}

/** The row that says which groups have an object. */
interface Owned {
  readonly groups: readonly string[];
}

interface DiskViewParts {
  readonly state: LocalState;
  readonly pending: Pending;
  readonly source: string;
  readonly disk: () => DiskPart;
}

/** The view of a source on the disk. Of its objects only those are in memory that are shown, changed here, or were read lately. */
export class DiskView implements ViewOnDisk {
  readonly source: string;
  readonly #parts: DiskViewParts;
  readonly #held: HeldObjects;
  readonly #followers = new Set<DiskFollower>();
  readonly #readings = new Set<OpenReading>();
  readonly #listeners = new Listeners();
  readonly subscribe = this.#listeners.add;

  constructor(parts: DiskViewParts) {
    this.#parts = parts;
    this.source = parts.source;
    this.#held = new HeldObjects((id) => this.#isNeeded(id));
  }

  get disk(): DiskPart {
    return this.#parts.disk();
  }

  /** True during a first sync that the app is to see when it is complete, and before the source is known. */
  get isHidden(): boolean {
    return this.#row?.staging?.firstSync === 'hidden';
  }

  get(id: string): SyncedObject | undefined {
    const { state } = this.#parts;
    return (this.#held.get(id) ?? this.#held.get(realId(state, this.source, id)))?.object;
  }

  /** Loads the objects that are changed here. */
  loadChangedHere(): Promise<void> {
    return this.load([...this.#parts.pending.idsOf(this.source)]);
  }

  isLoaded(id: string): boolean {
    return this.#held.has(id) || this.#held.has(realId(this.#parts.state, this.source, id));
  }

  /** The objects with changes made here, as far as they are loaded. */
  changedHere(): readonly ChangedHere[] {
    return [...this.#parts.pending.idsOf(this.source)].flatMap((id) => {
      const held = this.#held.get(id);
      return held === undefined ? [] : [{ id, stored: this.isHidden ? undefined : held.stored, object: held.object }];
    });
  }

  list(): never {
    throw clientError(
      'not_in_memory',
      `${this.source} is kept on the disk: read it by a query with a limit, or by pages`,
    );
  }

  async load(ids: readonly string[]): Promise<void> {
    const { state } = this.#parts;
    const wanted = new Set(ids.map((id) => realId(state, this.source, id)));
    const missing = [...wanted].filter((id) => !this.#held.has(id));
    if (missing.length === 0) return;
    this.#held.reserve(missing.length);
    await this.#read(missing);
    // What `get` returns has changed.
    this.#listeners.notify();
  }

  /** Reads objects that are changed here, or shown, again. */
  async #read(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const reading = this.beginReading();
    try {
      const values = await this.disk.read(ids.map((id) => [this.source, id]));
      const groups = await this.#groupsOf(ids);
      if (reading.isRemade) await this.#read(ids);
      else {
        for (const [index, id] of ids.entries()) {
          const stored = reading.changed.has(id) ? reading.changed.get(id) : (values[index] as Attributes | undefined);
          this.#hold(id, stored, groups?.[index]);
        }
      }
    } finally {
      reading.end();
    }
  }

  /** Takes objects that a query has read. Returns them as the app sees them without the changes made here. */
  async admit(objects: readonly (readonly [id: string, stored: Attributes])[]): Promise<readonly SyncedObject[]> {
    const groups = await this.#groupsOf(objects.map(([id]) => id));
    return objects.map(([id, stored], index) => {
      const held = this.#hold(id, stored, groups?.[index]);
      return held.isChangedHere ? this.#show(id, stored, groups?.[index], false) : held.object;
    }) as readonly SyncedObject[];
  }

  beginReading(): Reading {
    const reading: OpenReading = { changed: new Map(), isRemade: false };
    this.#readings.add(reading);
    return Object.assign(reading, { end: () => void this.#readings.delete(reading) });
  }

  follow(follower: DiskFollower): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  tell(): void {
    for (const follower of [...this.#followers]) follower.tell();
    this.#listeners.notify();
  }

  take(changes: readonly Change[], tx: Transaction | undefined): boolean {
    const how = tx?.disk?.remade.get(this.source);
    const isForAll = changes.some((change) => this.#concernsAll(change));
    const stored = this.#storedChanges(changes, tx);
    const changedHere = new Set(changes.flatMap((change) => this.#idsOfUpload(change)));
    if (how === undefined && !isForAll && stored.length + changedHere.size === 0) return false;
    if (how !== undefined) this.#remake(how);
    for (const id of isForAll ? this.#held.ids() : changedHere) this.#showAgain(id, changes);
    if (isForAll) for (const follower of this.#followers) follower.remake(this, 'replaced');
    if (!this.isHidden) for (const follower of this.#followers) follower.changeStored(this, stored);
    this.#refresh();
    return true;
  }

  #refresh(): void {
    for (const follower of this.#followers) follower.refresh();
  }

  /** Takes over what has changed on the disk. */
  #storedChanges(changes: readonly Change[], tx: Transaction | undefined): readonly StoredChange[] {
    const owners = ownersOf(this.source);
    /** Null: only its groups have changed. */
    const objects = new Map<string, Change | null>();
    for (const change of changes) {
      const [first, id] = change.key;
      if (change.table !== 'objects') continue;
      if (first === this.source) objects.set(id, change);
      else if (first === owners && !objects.has(id)) objects.set(id, null);
    }
    return Array.from(objects, ([id, change]): StoredChange => {
      const held = this.#held.get(id);
      const after = (change === null ? held?.stored : change.after) as Attributes | undefined;
      const before = (change === null ? after : change.before) as Attributes | undefined;
      for (const reading of this.#readings) reading.changed.set(id, after);
      const owned = this.#isGrouped ? (tx?.get('objects', [owners, id]) as Owned | undefined) : undefined;
      const known = held === undefined ? undefined : this.#hold(id, after, owned?.groups);
      if (known?.isChangedHere === false) return { id, before, after, object: known.object };
      const object = this.#followers.size === 0 ? undefined : this.#show(id, after, owned?.groups, false);
      return { id, before, after, object };
    });
  }

  #remake(how: Remade): void {
    for (const reading of this.#readings) reading.isRemade = true;
    const ids = this.#held.ids();
    if (how === 'emptied') for (const id of ids) this.#hold(id, undefined, undefined);
    else this.#readAgain(ids);
    for (const follower of this.#followers) follower.remake(this, how);
  }

  /** A change made here to an object that is not in memory is shown as soon as the object is. */
  #showAgain(id: string, changes: readonly Change[]): void {
    const held = this.#held.get(id);
    if (held !== undefined) this.#hold(id, held.stored, held.groups);
    else if (changes.some(({ after }) => isCreateOf(after as UploadRow | undefined, id)))
      this.#hold(id, undefined, undefined);
    else this.#readAgain([id]);
  }

  /** The store has failed if this does, and the next transaction says so. */
  #readAgain(ids: readonly string[]): void {
    const finish = () => {
      this.#refresh();
      this.tell();
    };
    this.#read(ids).then(finish, () => undefined);
  }

  #hold(id: string, stored: Attributes | undefined, groups: readonly string[] | undefined): HeldObject {
    const known = this.#held.get(id)?.object;
    const object = sameAs(known, this.#show(id, stored, groups, true));
    return this.#held.set(id, { stored, groups, object, isChangedHere: this.#uploadsOf(id).length > 0 });
  }

  #show(
    id: string,
    stored: Attributes | undefined,
    groups: readonly string[] | undefined,
    hasUploads: boolean,
  ): SyncedObject | undefined {
    const { state } = this.#parts;
    const references = referencesOf(this.#row);
    const uploads = hasUploads ? this.#uploadsOf(id) : [];
    const seen = this.isHidden ? undefined : stored;
    return shownObject({ id, stored: seen, groups }, uploads, (attributes) =>
      withRealReferences(state, references, attributes),
    );
  }

  async #groupsOf(ids: readonly string[]): Promise<readonly (readonly string[] | undefined)[] | undefined> {
    if (!this.#isGrouped) return undefined;
    const rows = await this.disk.read(ids.map((id) => [ownersOf(this.source), id]));
    return rows.map((row) => (row as Owned | undefined)?.groups);
  }

  #uploadsOf(id: string): readonly UploadRow[] {
    return this.#parts.pending.of(this.source, id);
  }

  #isNeeded(id: string): boolean {
    if (this.#uploadsOf(id).length > 0) return true;
    for (const follower of this.#followers) if (follower.uses(this, id)) return true;
    return false;
  }

  #idsOfUpload({ table, before, after }: Change): readonly string[] {
    if (table !== 'uploads') return [];
    const rows = [before, after] as readonly (UploadRow | undefined)[];
    return rows.flatMap((row) => (row?.source === this.source ? [row.id] : []));
  }

  /** True for links and declared references, which may concern any object, and for what hides all or shows them. */
  #concernsAll({ table, key, before, after }: Change): boolean {
    if (table === 'links') return true;
    if (table !== 'sources' || key[0] !== '' || key[1] !== this.source) return false;
    const [old, row] = [before, after] as readonly (SourceRow | undefined)[];
    const wasHidden = old?.staging?.firstSync === 'hidden';
    return wasHidden !== this.isHidden || !sameJson(referencesOf(old), referencesOf(row));
  }

  get #row(): SourceRow | undefined {
    return this.#parts.state.get('sources', ['', this.source]);
  }

  get #isGrouped(): boolean {
    return isGrouped(this.#row);
  }
}

/** A new object has an id that no stored one has. */
function isCreateOf(row: UploadRow | undefined, id: string): boolean {
  return row?.op === 'create' && row.id === id;
}
