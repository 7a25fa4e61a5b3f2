import { type ParsedPath, parsePath, valueAt } from '@tidemark/protocol';
import type { SyncedObject } from '../view/source-view.ts';
import { SortedList } from './sorted-list.ts';
import { compareValues, type Value } from './value-order.ts';

interface IndexEntry {
  readonly value: Value;
  readonly object: SyncedObject;
}

/** A range of an index: tests for its first entry and for the first one behind it. */
export interface IndexRange {
  readonly isReached: (value: Value) => boolean;
  readonly isPassed: (value: Value) => boolean;
}

/** The objects of a source, sorted by the value at one path. */
export class SourceIndex {
  readonly #path: ParsedPath;
  readonly #list = new SortedList<IndexEntry, SyncedObject>(inOrder, ({ object }) => object);

  constructor(path: string, objects: Iterable<SyncedObject>) {
    this.#path = parsePath(path);
    this.#list.fill(Array.from(objects, (object) => this.#entryOf(object)));
  }

  change(before: SyncedObject | undefined, after: SyncedObject | undefined): void {
    const [old, entry] = [before && this.#entryOf(before), after && this.#entryOf(after)];
    if (old !== undefined && entry !== undefined && inOrder(old, entry) === 0) this.#list.replace(entry);
    else {
      if (old !== undefined) this.#list.remove(old);
      if (entry !== undefined) this.#list.insert(entry);
    }
  }

  count(range: IndexRange): number {
    const [from, to] = this.#bounds(range);
    return to - from;
  }

  objects(range: IndexRange): readonly SyncedObject[] {
    return this.#list.rows(...this.#bounds(range));
  }

  /** The objects whose value is this one. */
  withValue(value: Value): readonly SyncedObject[] {
    return this.objects(exactly(value));
  }

  #bounds({ isReached, isPassed }: IndexRange): [number, number] {
    return [this.#list.rank(({ value }) => isReached(value)), this.#list.rank(({ value }) => isPassed(value))];
  }

  #entryOf(object: SyncedObject): IndexEntry {
    return { value: valueAt(object.attributes, this.#path), object };
  }
}

export function exactly(value: Value): IndexRange {
  return {
    isReached: (other) => compareValues(other, value) >= 0,
    isPassed: (other) => compareValues(other, value) > 0,
  };
}

function inOrder(left: IndexEntry, right: IndexEntry): number {
  return compareValues(left.value, right.value) || compareValues(left.object.id, right.object.id);
}
