import type { Order } from '../queries/order.ts';
import type { Attributes } from '../state/rows.ts';
import type { SyncedObject } from '../view/source-view.ts';
import type { ChangedHere, StoredChange } from './changes.ts';
import { comparing, type Match } from './selection.ts';

/** An object in the order of a query. */
export interface Entry extends Pick<Match, 'id' | 'key'> {
  readonly object: SyncedObject;
}

export interface WindowRows {
  readonly entries: readonly Entry[];
  /** True: the disk has objects that belong to it and have not been read. */
  readonly isShort: boolean;
}

interface WindowParts {
  readonly order: Order;
  readonly matches: (attributes: Attributes) => boolean;
}

/**
 * A part of the matching objects on the disk, in their order and without gaps: those behind the first `skipped`. It follows commits as
 * long as they do not change how many it skips.
 */
export class StoredWindow {
  readonly #parts: WindowParts;
  readonly #compare: (left: Pick<Entry, 'id' | 'key'>, right: Pick<Entry, 'id' | 'key'>) => number;
  readonly #skipped: number;
  #entries: readonly Entry[];
  /** The ids of the entries; null: nobody has asked since they changed. */
  #ids: ReadonlySet<string> | null = null;
  #isEnd: boolean;
  #isShifted = false;

  constructor(parts: WindowParts, skipped: number, entries: readonly Entry[], isEnd: boolean) {
    this.#parts = parts;
    this.#compare = comparing(parts.order);
    this.#skipped = skipped;
    this.#entries = entries;
    this.#isEnd = isEnd;
  }

  /** True: what it skips has changed, so it must be read again. */
  get isShifted(): boolean {
    return this.#isShifted;
  }

  /** How many objects match on the disk; null: it does not reach the end. */
  get total(): number | null {
    return this.#isEnd ? this.#skipped + this.#entries.length : null;
  }

  has(id: string): boolean {
    this.#ids ??= new Set(this.#entries.map((entry) => entry.id));
    return this.#ids.has(id);
  }

  /** Holds nothing, and knows that there is nothing. */
  clear(): void {
    this.#take([]);
    this.#isEnd = true;
    this.#isShifted = this.#skipped > 0;
  }

  /** Lets go of what is far behind a position, if that is more than is needed before it. Returns true if it did. */
  shorten(to: number, spare: number): boolean {
    const needed = Math.max(0, to - this.#skipped) + spare;
    if (this.#entries.length <= 2 * needed) return false;
    this.#take(this.#entries.slice(0, needed));
    this.#isEnd = false;
    return true;
  }

  apply(changes: readonly StoredChange[]): void {
    const relevant = changes.filter(({ before, after }) => this.#matches(before) || this.#matches(after));
    if (relevant.length === 0) return;
    const ids = new Set(relevant.map(({ id }) => id));
    const [first, last] = [this.#entries[0], this.#entries.at(-1)];
    const isBefore = (entry: Pick<Entry, 'id' | 'key'>) => first === undefined || this.#compare(entry, first) < 0;
    const isBehind = (entry: Pick<Entry, 'id' | 'key'>) => last === undefined || this.#compare(entry, last) > 0;
    const added: Entry[] = [];
    for (const { id, before, after, object } of relevant) {
      const [old, entry] = [this.#keyed(id, before), this.#keyed(id, after)];
      if (this.#skipped > 0 && [old, entry].some((one) => one !== null && isBefore(one))) this.#isShifted = true;
      if (entry === null || object === undefined) continue;
      if (this.#isEnd || !isBehind(entry)) added.push({ ...entry, object });
    }
    const kept = this.#entries.filter(({ id }) => !ids.has(id));
    this.#take([...kept, ...added].sort(this.#compare));
  }

  #take(entries: readonly Entry[]): void {
    this.#entries = entries;
    this.#ids = null;
  }

  /** The objects from a position to another one, with the changes made here. */
  rows(changedHere: readonly ChangedHere[], from: number, to: number): WindowRows {
    if (changedHere.length === 0) return this.#cut(this.#entries, from - this.#skipped, to - this.#skipped);
    const [first, last] = [this.#entries[0], this.#entries.at(-1)];
    const ids = new Set(changedHere.map(({ id }) => id));
    const shown = changedHere.flatMap((one) => this.#shown(one));
    const known = shown.filter((entry) => this.#isEnd || (last !== undefined && this.#compare(entry, last) < 0));
    const merged = [...this.#entries.filter(({ id }) => !ids.has(id)), ...known].sort(this.#compare);
    const isBefore = (entry: Pick<Entry, 'id' | 'key'>) => first === undefined || this.#compare(entry, first) < 0;
    // What it skips does not include objects that are changed here.
    const skippedHere = changedHere.filter(({ id, stored }) => {
      const entry = this.#skipped === 0 ? null : this.#keyed(id, stored);
      return entry !== null && isBefore(entry);
    }).length;
    const start = from - (this.#skipped - skippedHere);
    // Those that now come before the window could be among what it skips.
    const isUncertain = this.#skipped > 0 && shown.filter(isBefore).length > start;
    const cut = this.#cut(merged, start, to - from + start);
    return { ...cut, isShort: cut.isShort || isUncertain };
  }

  /** How many more match with the changes made here. */
  difference(changedHere: readonly ChangedHere[]): number {
    const shown = changedHere.filter((one) => this.#shown(one).length > 0).length;
    return shown - changedHere.filter(({ stored }) => this.#matches(stored)).length;
  }

  #cut(entries: readonly Entry[], from: number, to: number): WindowRows {
    return { entries: entries.slice(Math.max(0, from), Math.max(0, to)), isShort: !this.#isEnd && entries.length < to };
  }

  #shown({ id, object }: ChangedHere): readonly Entry[] {
    const entry = this.#keyed(id, object?.attributes);
    return entry === null || object === undefined ? [] : [{ ...entry, object }];
  }

  #keyed(id: string, attributes: Attributes | undefined): Pick<Entry, 'id' | 'key'> | null {
    if (attributes === undefined || !this.#parts.matches(attributes)) return null;
    return { id, key: this.#parts.order.keyOf({ attributes }) };
  }

  #matches(attributes: Attributes | undefined): boolean {
    return attributes !== undefined && this.#parts.matches(attributes);
  }
}
