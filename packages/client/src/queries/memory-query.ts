import type { Observable } from '../view/observable.ts';
import type { SyncedObject, ViewChange } from '../view/source-view.ts';
import { countOf } from './count-of.ts';
import { Entries, type Entry } from './entries.ts';
import type { IndexedSource, LiveQuery } from './indexed-source.ts';
import type { Query } from './query.ts';
import { QueryListeners, type Shown } from './query-listeners.ts';
import type { QueryOptions } from './query-options.ts';
import { Relations } from './relations.ts';
import type { SortedList } from './sorted-list.ts';
import { type CompiledWhere, compileWhere } from './where.ts';

/** The ranks that `offset` and `limit` leave; `to` is behind the last one. */
interface Part {
  readonly from: number;
  readonly to: number;
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
  readonly #relations: Relations;
  readonly #entries: Entries;
  readonly #part: Part;
  readonly #listeners = new QueryListeners(
    () => this.#begin(),
    () => this.#end(),
  );
  #list: SortedList<Entry, SyncedObject>;
  /** The list when the first sync is complete; null: there is none, or nothing is prepared. */
  #arriving: SortedList<Entry, SyncedObject> | null = null;
  /** The version of the sources that the list shows; null: never evaluated. */
  #version: number | null = null;
  #rows: readonly SyncedObject[] = Object.freeze([]);
  /** Whether the list differs from the rows; `perhaps`: a comparison decides whether they are shown as another list. */
  #differs: 'no' | 'perhaps' | 'surely' = 'no';

  constructor(source: IndexedSource, options: QueryOptions) {
    this.#source = source;
    this.#where = compileWhere(options.where);
    this.#relations = new Relations(source, options.include);
    this.#entries = new Entries(options.orderBy, this.#relations);
    const from = countOf('offset', options.offset ?? 0);
    this.#part = { from, to: from + countOf('limit', options.limit ?? Number.POSITIVE_INFINITY) };
    this.#list = this.#entries.newList();
  }

  /** Returns the result; the same list until it changes. */
  readonly getSnapshot = (): readonly T[] => {
    this.#refresh();
    if (this.#differs !== 'no') {
      const rows = this.#list.rows(this.#part.from, this.#part.to);
      this.#entries.forgetRows();
      if (this.#differs === 'surely' || !sameMembers(rows, this.#rows)) this.#rows = Object.freeze(rows);
      this.#differs = 'no';
    }
    return this.#rows as readonly unknown[] as readonly T[];
  };

  readonly list = this.getSnapshot;

  /** Calls the listener after every change of the result. Returns the unsubscribe function. */
  readonly subscribe = this.#listeners.addToRows;

  /** Returns how many objects match, whatever `limit` and `offset` leave out. */
  readonly count = (): number => {
    this.#refresh();
    return this.#list.size;
  };

  /** The number of objects that match, to subscribe to. */
  readonly total: Observable<number> = this.#listeners.total(this.count);

  get isLoading(): boolean {
    return this.#source.loaded !== null;
  }

  async fetch(): Promise<readonly T[]> {
    await this.#source.loaded;
    return this.getSnapshot();
  }

  /** True while it has subscribers. */
  get isLive(): boolean {
    return !this.#listeners.areNone;
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
      this.#arriving = this.#entries.newList();
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
    this.#listeners.notify(this.#show());
  }

  /** Follows the sources by itself from now on. */
  #begin(): void {
    this.#refresh();
    this.#source.attach(this, this.#relations.targets());
    this.#listeners.noteRead(this.#show());
  }

  #end(): void {
    this.#version = this.#versionNow();
    this.#arriving = null;
    this.#source.detach(this, this.#relations.targets());
  }

  #show(): Shown {
    return { rows: this.getSnapshot(), total: this.#list.size };
  }

  #refresh(): void {
    if (this.isLive) return;
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
      if (this.#where.matches(object.attributes)) entries.push(this.#entries.of(object));
    }
    this.#list.fill(entries);
  }

  /** The same objects match, and may include others. */
  #includeAnew(): void {
    this.#replaceRows();
    this.#entries.includeAnew();
    this.#list.forgetRows();
  }

  #replaceRows(): void {
    this.#entries.rememberRows(this.#rows);
    this.#differs = 'perhaps';
  }

  #changeOne(before: SyncedObject | undefined, after: SyncedObject | undefined): void {
    const old = this.#matching(before);
    const entry = this.#matching(after);
    if (old !== undefined && entry !== undefined && this.#entries.compare(old, entry) === 0) {
      if (this.#list.replace(entry) && !this.#isBefore(entry)) this.#touch(entry);
      return;
    }
    if (old !== undefined && this.#list.remove(old)) this.#touch(old);
    if (entry === undefined) return;
    this.#list.insert(entry);
    this.#touch(entry);
  }

  #matching(object: SyncedObject | undefined): Entry | undefined {
    return object !== undefined && this.#where.matches(object.attributes) ? this.#entries.of(object) : undefined;
  }

  /** The result changes unless the entry is behind its end. */
  #touch(entry: Entry): void {
    if (this.#differs !== 'no') return;
    const last = this.#list.at(this.#part.to - 1);
    // What moves past an end of the part may leave the part as it is.
    if (last === undefined || this.#entries.compare(last, entry) >= 0)
      this.#differs = this.#isPart ? 'perhaps' : 'surely';
  }

  /** True if `offset` leaves out the entry. */
  #isBefore(entry: Entry): boolean {
    const { from } = this.#part;
    const skipped = from === 0 ? undefined : this.#list.at(from - 1);
    return from > 0 && (skipped === undefined || this.#entries.compare(skipped, entry) >= 0);
  }

  /** True: `limit` or `offset` leave something out. */
  get #isPart(): boolean {
    return this.#part.from > 0 || this.#part.to !== Number.POSITIVE_INFINITY;
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
