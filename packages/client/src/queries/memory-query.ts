import { Listeners, type Observable } from '../view/observable.ts';
import type { SyncedObject, ViewChange } from '../view/source-view.ts';
import { countOf } from './count-of.ts';
import type { IndexedSource, LiveQuery } from './indexed-source.ts';
import { type Order, orderOf, type SortKey } from './order.ts';
import type { Query } from './query.ts';
import type { QueryOptions } from './query-options.ts';
import { Relations } from './relations.ts';
import { SortedList } from './sorted-list.ts';
import { type CompiledWhere, compileWhere } from './where.ts';

interface Entry {
  readonly key: SortKey;
  readonly object: SyncedObject;
  /** The object with what it includes, made when it is shown; null: not made yet. */
  row: SyncedObject | null;
  /** The version of the relations for which it was made. */
  rowVersion: number;
}

/** A batch that changes more than this part of the result is evaluated anew, which is faster than one by one. */
const BATCH_PART_MAX = 1 / 8;
const BATCH_MIN = 100;

/**
 * A query of a source in memory. While it has subscribers the result follows every change by itself: a change costs
 * O(log n), and reading afterwards copies references. Without subscribers it is evaluated when it is read after a
 * change.
 */
export class MemoryQuery<T = SyncedObject> implements Query<T>, LiveQuery {
  readonly #source: IndexedSource;
  readonly #where: CompiledWhere;
  readonly #order: Order;
  readonly #relations: Relations;
  readonly #from: number;
  readonly #to: number;
  #list: SortedList<Entry, SyncedObject>;
  /** The list when the first sync is complete; null: there is none, or nothing is prepared. */
  #arriving: SortedList<Entry, SyncedObject> | null = null;
  readonly #listeners = new Listeners();
  readonly #totalListeners = new Listeners();
  #subscribers = 0;
  /** The version of the sources that the list shows; null: never evaluated. */
  #version: number | null = null;
  #rows: readonly SyncedObject[] = Object.freeze([]);
  /** Increases when what any object includes may have changed. */
  #relationsVersion = 0;
  /** The last rows by id, which are shown again where nothing differs. */
  #previous: ReadonlyMap<string, SyncedObject> = new Map();
  #isStale = false;
  /** False: a change of the whole result, which needs no comparison with the last one. */
  #mayBeSame = true;
  /** What subscribers were told last. */
  #sentRows = this.#rows;
  #sentTotal = 0;

  constructor(source: IndexedSource, options: QueryOptions) {
    this.#source = source;
    this.#where = compileWhere(options.where);
    this.#order = orderOf(options.orderBy);
    this.#relations = new Relations(source, options.include);
    this.#from = countOf('offset', options.offset ?? 0);
    this.#to = this.#from + countOf('limit', options.limit ?? Number.POSITIVE_INFINITY);
    this.#list = this.#newList();
  }

  /** Returns the result; the same list until it changes. */
  readonly getSnapshot = (): readonly T[] => {
    this.#refresh();
    if (this.#isStale) {
      this.#isStale = false;
      const rows = this.#list.rows(this.#from, this.#to);
      this.#previous = new Map();
      if (!this.#mayBeSame || !sameMembers(rows, this.#rows)) this.#rows = Object.freeze(rows);
      this.#mayBeSame = this.#isPart;
    }
    return this.#rows as readonly unknown[] as readonly T[];
  };

  readonly list = this.getSnapshot;

  /** Calls the listener after every change of the result. Returns the unsubscribe function. */
  readonly subscribe = (listener: () => void): (() => void) => this.#follow(this.#listeners, listener);

  /** Returns how many objects match, whatever `limit` and `offset` leave out. */
  readonly count = (): number => {
    this.#refresh();
    return this.#list.size;
  };

  /** The number of objects that match, to subscribe to. */
  readonly total: Observable<number> = {
    getSnapshot: this.count,
    subscribe: (listener) => this.#follow(this.#totalListeners, listener),
  };

  get isLoading(): boolean {
    return this.#source.loaded !== null;
  }

  async fetch(): Promise<readonly T[]> {
    await this.#source.loaded;
    return this.getSnapshot();
  }

  /** True while it has subscribers. */
  get isLive(): boolean {
    return this.#subscribers > 0;
  }

  change(changes: readonly ViewChange[]): void {
    const hasNewTargets = this.#relations.resolve();
    if (hasNewTargets) this.#source.attach(this, this.#relations.targets());
    const isLarge = isLargeFor(this.#list, changes);
    if (hasNewTargets || (isLarge && !changes.every(isNew))) this.#evaluate();
    else for (const { before, after } of changes) this.#changeOne(before, after);
  }

  changeRelated(target: IndexedSource, changes: readonly ViewChange[]): void {
    if (isLargeFor(this.#list, changes)) {
      this.#includeAnew();
      return;
    }
    for (const change of changes) {
      for (const object of this.#relations.concerned(target, change)) this.#changeOne(object, object);
    }
  }

  prepare(changes: readonly ViewChange[]): void {
    const list = this.#arriving;
    if (list === null) {
      this.#arriving = this.#newList();
      this.#arriving.fill(Array.from(this.#source.view.arriving()).flatMap((object) => this.#matching(object) ?? []));
    } else {
      for (const { before, after } of changes) {
        const [old, entry] = [this.#matching(before), this.#matching(after)];
        if (old !== undefined) list.remove(old);
        if (entry !== undefined) list.insert(entry);
      }
    }
  }

  reveal(source: IndexedSource): void {
    if (this.#relations.resolve()) this.#source.attach(this, this.#relations.targets());
    if (source !== this.#source) this.#includeAnew();
    else if (this.#arriving === null) this.#evaluate();
    else {
      this.#replaceRows();
      this.#list = this.#arriving;
      this.#arriving = null;
    }
  }

  notify(): void {
    const [rows, total] = [this.getSnapshot() as readonly unknown[], this.#list.size];
    const [hasRows, hasTotal] = [rows !== this.#sentRows, total !== this.#sentTotal];
    this.#remember();
    if (hasRows) this.#listeners.notify();
    if (hasTotal) this.#totalListeners.notify();
  }

  #follow(listeners: Listeners, listener: () => void): () => void {
    if (this.#subscribers++ === 0) {
      this.#refresh(true);
      this.#source.attach(this, this.#relations.targets());
      this.getSnapshot();
      this.#remember();
    }
    const remove = listeners.add(listener);
    let isFollowing = true;
    return () => {
      remove();
      if (isFollowing && --this.#subscribers === 0) {
        this.#version = this.#versionNow();
        this.#arriving = null;
        this.#source.detach(this, this.#relations.targets());
      }
      isFollowing = false;
    };
  }

  #remember(): void {
    this.#sentRows = this.#rows;
    this.#sentTotal = this.#list.size;
  }

  #refresh(isAttaching = false): void {
    if (this.isLive && !isAttaching) return;
    const hasNewTargets = this.#relations.resolve();
    const version = this.#versionNow();
    if (this.#version === version && !hasNewTargets) return;
    this.#evaluate();
    this.#version = version;
  }

  #evaluate(): void {
    this.#replaceRows();
    const entries: Entry[] = [];
    for (const object of this.#source.candidates(this.#where.ranges)) {
      if (this.#where.matches(object.attributes)) entries.push(this.#entryOf(object));
    }
    this.#list.fill(entries);
  }

  /** The same objects match, and may include others. */
  #includeAnew(): void {
    this.#replaceRows();
    this.#relationsVersion++;
    this.#list.forgetRows();
  }

  #replaceRows(): void {
    if (!this.#relations.isNone) this.#previous = new Map(this.#rows.map((row) => [row.id, row]));
    this.#isStale = true;
    this.#mayBeSame = true;
  }

  #changeOne(before: SyncedObject | undefined, after: SyncedObject | undefined): void {
    const old = this.#matching(before);
    const entry = this.#matching(after);
    if (old !== undefined && entry !== undefined && this.#compare(old, entry) === 0) {
      if (this.#list.replace(entry) && !this.#isBefore(entry)) this.#touch(entry);
      return;
    }
    if (old !== undefined && this.#list.remove(old)) this.#touch(old);
    if (entry === undefined) return;
    this.#list.insert(entry);
    this.#touch(entry);
  }

  #matching(object: SyncedObject | undefined): Entry | undefined {
    return object !== undefined && this.#where.matches(object.attributes) ? this.#entryOf(object) : undefined;
  }

  /** The result changes unless the entry is behind its end. */
  #touch(entry: Entry): void {
    if (this.#isStale) return;
    const last = this.#list.at(this.#to - 1);
    this.#isStale = last === undefined || this.#compare(last, entry) >= 0;
  }

  /** True if `offset` leaves out the entry. */
  #isBefore(entry: Entry): boolean {
    const skipped = this.#from === 0 ? undefined : this.#list.at(this.#from - 1);
    return this.#from > 0 && (skipped === undefined || this.#compare(skipped, entry) >= 0);
  }

  /** True: `limit` or `offset` leave something out. */
  get #isPart(): boolean {
    return this.#from > 0 || this.#to !== Number.POSITIVE_INFINITY;
  }

  #newList(): SortedList<Entry, SyncedObject> {
    return new SortedList(
      (left, right) => this.#compare(left, right),
      (entry) => this.#rowOf(entry),
    );
  }

  #entryOf(object: SyncedObject): Entry {
    return { key: this.#order.keyOf(object), object, row: null, rowVersion: 0 };
  }

  #rowOf(entry: Entry): SyncedObject {
    if (entry.row === null || entry.rowVersion !== this.#relationsVersion) {
      entry.row = this.#relations.rowOf(entry.object, entry.row ?? this.#previous.get(entry.object.id));
      entry.rowVersion = this.#relationsVersion;
    }
    return entry.row;
  }

  #compare(left: Entry, right: Entry): number {
    return (
      this.#order.compare(left.key, right.key) ||
      (left.object.id < right.object.id ? -1 : Number(left.object.id > right.object.id))
    );
  }

  #versionNow(): number {
    let version = this.#source.version;
    for (const target of this.#relations.targets()) version += target.version;
    return version;
  }
}

function isNew({ before }: ViewChange): boolean {
  return before === undefined;
}

function isLargeFor({ size }: SortedList<Entry, SyncedObject>, changes: readonly ViewChange[]): boolean {
  return changes.length > BATCH_MIN && changes.length > size * BATCH_PART_MAX;
}

function sameMembers(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((member, index) => member === right[index]);
}
