import { clientError } from '../client-error.ts';
import type { DiskPart } from '../ports/local-store.ts';
import type { Remade } from '../state/disk-work.ts';
import { isGrouped, ownersOf } from '../state/group-rows.ts';
import type { Change, LocalState, Transaction } from '../state/local-state.ts';
import type { Attributes, SourceRow, UploadRow } from '../state/rows.ts';
import { realId, referencesOf } from '../uploads/links.ts';
import { Listeners } from '../view/observable.ts';
import type { Pending } from '../view/pending.ts';
import { type SyncedObject, sameAs, shownObject } from '../view/source-view.ts';
import type { ViewOnDisk } from '../view/views.ts';
import { partsOf, sizeOf } from './all-objects.ts';
import {
  type ChangedHere,
  concernsAll,
  findCreate,
  idsOfUploads,
  isHidden,
  isOtherVersion,
  objectChanges,
  type StoredChange,
  wasHidden,
} from './changes.ts';
import { inVersionOfApp, type ObjectsOnDisk } from './disk-in-version.ts';
import { type HeldObject, HeldObjects } from './held-objects.ts';
import { type Reading, Readings } from './readings.ts';

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

const NO_INDEXES: ReadonlySet<string> = new Set();

/** The view of a source on the disk. Of its objects only those are in memory that are shown, changed here, or were read lately. */
export class DiskView implements ViewOnDisk {
  readonly source: string;
  readonly #parts: DiskViewParts;
  readonly #held: HeldObjects;
  readonly #followers = new Set<DiskFollower>();
  readonly #readings = new Readings();
  /** The objects that are read again at the moment: what is in memory of them is outdated. */
  readonly #readAgain = new Map<string, Promise<void>>();
  readonly #listeners = new Listeners();
  readonly subscribe = this.#listeners.add;
  readonly parts = () => partsOf(this);
  readonly size = () => sizeOf(this);

  constructor(parts: DiskViewParts) {
    this.#parts = parts;
    this.source = parts.source;
    this.#held = new HeldObjects((id) => this.#isNeeded(id));
  }

  /** Its objects are those that the app knows, in its version. */
  get disk(): ObjectsOnDisk {
    const { state, source } = this.#parts;
    const { versions } = state;
    const disk = this.#parts.disk();
    if (versions === null || this.isInVersionOfApp) return disk;
    return inVersionOfApp(disk, source, (attributes) => versions.shown(this.#row, attributes));
  }

  /** Which of the indexes find objects by what the app knows: none if what the disk has must be translated. */
  usable(indexes: ReadonlySet<string>): ReadonlySet<string> {
    return this.isInVersionOfApp ? indexes : NO_INDEXES;
  }

  get isInVersionOfApp(): boolean {
    return this.#parts.state.versions?.isSame(this.#row) !== false;
  }

  /** True during a first sync that the app is to see when it is complete, and before the source is known. */
  get isHidden(): boolean {
    return isHidden(this.#row);
  }

  /** True if a query shows its objects, or includes them. */
  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  get(id: string): SyncedObject | undefined {
    return this.#held.get(id)?.object ?? this.#held.get(this.#realId(id))?.object;
  }

  /** Loads the objects that are changed here. */
  loadChangedHere(): Promise<void> {
    return this.load([...this.#parts.pending.idsOf(this.source)]);
  }

  isLoaded(id: string): boolean {
    const real = this.#realId(id);
    return this.#held.has(real) && !this.#readAgain.has(real);
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

  /** Returns stored objects as the app sees them without the changes made here. */
  async shown(objects: readonly (readonly [id: string, stored: Attributes])[]): Promise<readonly SyncedObject[]> {
    const groups = await this.#groupsOf(objects.map(([id]) => id));
    return objects.flatMap(([id, stored], at) => this.#show(id, stored, groups?.[at], false) ?? []);
  }

  async load(ids: readonly string[]): Promise<void> {
    const wanted = new Set(ids.map((id) => this.#realId(id)));
    await Promise.all([...wanted].map((id) => this.#readAgain.get(id)));
    const missing = [...wanted].filter((id) => !this.#held.has(id));
    if (missing.length === 0) return;
    this.#held.reserve(missing.length, wanted);
    await this.#read(missing);
    // What `get` returns has changed.
    this.#listeners.notify();
  }

  /** Reads objects that are changed here, or shown, again. */
  async #read(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const reading = this.#readings.begin();
    try {
      const values = await this.disk.read(ids.map((id) => [this.source, id]));
      const groups = await this.#groupsOf(ids);
      // Which groups have them was read at another moment.
      const isMixed = groups !== undefined && ids.some((id) => reading.changed.has(id));
      if (reading.isRemade || isMixed) await this.#read(ids);
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

  /**
   * Takes objects that a query has read. Returns them as the app sees them without the changes made here; null: objects have
   * changed since the reading began, so that it is to be done again.
   */
  async admit(
    reading: Reading,
    objects: readonly (readonly [id: string, stored: Attributes])[],
  ): Promise<readonly SyncedObject[] | null> {
    const groups = await this.#groupsOf(objects.map(([id]) => id));
    if (reading.isRemade || reading.changed.size > 0) return null;
    this.#held.reserve(objects.length);
    return objects.map(([id, stored], index) => {
      const held = this.#hold(id, stored, groups?.[index]);
      return held.isChangedHere ? this.#show(id, stored, groups?.[index], false) : held.object;
    }) as readonly SyncedObject[];
  }

  /** Begins to notice changes, once what is in memory is not outdated. */
  async beginReading(): Promise<Reading> {
    while (this.#readAgain.size > 0) await Promise.all(this.#readAgain.values());
    return this.#readings.begin();
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
    const isTranslated = changes.some((change) => isOtherVersion(this.source, change));
    const how = tx?.disk?.remade.get(this.source) ?? (isTranslated ? 'replaced' : undefined);
    const isForAll = changes.some((change) => concernsAll(this.source, change));
    // What is written comes after what becomes of all objects.
    if (how !== undefined) this.#remake(how);
    const stored = this.#storedChanges(changes, tx);
    const changedHere = new Set(idsOfUploads(this.source, changes));
    if (how === undefined && !isForAll && stored.length + changedHere.size === 0) return false;
    const known = isForAll ? [...this.#held.ids(), ...this.#parts.pending.idsOf(this.source)] : [];
    for (const id of new Set([...known, ...changedHere])) this.#showAgain(id, changes);
    if (isForAll) for (const follower of this.#followers) follower.remake(this, 'replaced');
    // What was hidden until now is read whole.
    const isRevealed = changes.some((change) => wasHidden(this.source, change));
    if (!this.isHidden && !isRevealed) for (const follower of this.#followers) follower.changeStored(this, stored);
    this.#refresh();
    return true;
  }

  #refresh(): void {
    for (const follower of this.#followers) follower.refresh();
  }

  /** Takes over what has changed on the disk. */
  #storedChanges(changes: readonly Change[], tx: Transaction | undefined): readonly StoredChange[] {
    const objects = objectChanges(this.source, changes);
    return Array.from(objects, ([id, change]) => this.#storedChange(id, change, this.#ownersAfter(id, tx)));
  }

  #storedChange(id: string, change: Change | null, groups: readonly string[] | undefined): StoredChange {
    const held = this.#held.get(id);
    const after = change === null ? held?.stored : this.#translated(change.after);
    const before = change === null ? after : this.#translated(change.before);
    // What an object is apart from its groups is known only if it is in memory.
    if (change === null && held === undefined) this.#readings.noteRemade();
    else this.#readings.noteChanged(id, after);
    const known = held === undefined ? undefined : this.#hold(id, after, groups);
    if (known?.isChangedHere === false) return { id, before, after, object: known.object };
    return { id, before, after, object: this.isFollowed ? this.#show(id, after, groups, false) : undefined };
  }

  #translated(value: unknown): Attributes | undefined {
    const attributes = value as Attributes | undefined;
    const { versions } = this.#parts.state;
    return attributes === undefined || versions === null ? attributes : versions.shown(this.#row, attributes);
  }

  #ownersAfter(id: string, tx: Transaction | undefined): readonly string[] | undefined {
    if (!this.#isGrouped) return undefined;
    return (tx?.get('objects', [ownersOf(this.source), id]) as Owned | undefined)?.groups;
  }

  #remake(how: Remade): void {
    this.#readings.noteRemade();
    const ids = this.#held.ids();
    if (how === 'emptied') for (const id of ids) this.#hold(id, undefined, undefined);
    else this.#readSoon(ids);
    for (const follower of this.#followers) follower.remake(this, how);
  }

  /** A change made here to an object that is not in memory is shown as soon as the object is. */
  #showAgain(id: string, changes: readonly Change[]): void {
    const held = this.#held.get(id);
    if (held !== undefined) {
      this.#hold(id, held.stored, held.groups);
      return;
    }
    const create = findCreate(this.source, id, changes);
    // It is shown at once.
    if (create !== undefined) this.#hold(id, undefined, undefined);
    // A new object has an id that no stored one has; that under its final id may have come already.
    if (create?.before !== undefined || create === undefined) this.#readSoon([id]);
  }

  /** The store has failed if this does, and the next transaction says so. */
  #readSoon(ids: readonly string[]): void {
    const finish = () => {
      for (const id of ids) if (this.#readAgain.get(id) === done) this.#readAgain.delete(id);
    };
    const done: Promise<void> = this.#read(ids).then(finish, finish);
    for (const id of ids) this.#readAgain.set(id, done);
    void done.then(() => {
      this.#refresh();
      this.tell();
    });
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
    const row = this.#row;
    const references = referencesOf(row, state.versions);
    const uploads = hasUploads ? this.#uploadsOf(id) : [];
    const seen = this.isHidden ? undefined : stored;
    return shownObject({ id, stored: seen, groups }, uploads, { state, row, references });
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

  #realId(id: string): string {
    return realId(this.#parts.state, this.source, id);
  }

  get #row(): SourceRow | undefined {
    return this.#parts.state.get('sources', ['', this.source]);
  }

  get #isGrouped(): boolean {
    return isGrouped(this.#row);
  }
}
