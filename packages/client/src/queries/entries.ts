import type { SyncedObject } from '../view/source-view.ts';
import { type Order, orderOf, type SortKey } from './order.ts';
import type { OrderBy } from './query-options.ts';
import type { Relations } from './relations.ts';
import { SortedList } from './sorted-list.ts';

/** An object that matches a query, with its place in the order. */
export interface Entry {
  readonly key: SortKey;
  readonly object: SyncedObject;
  /** The object with what it includes, made when it is shown; null: not made yet. */
  row: SyncedObject | null;
  /** The version of the relations for which it was made. */
  rowVersion: number;
}

/** Makes the entries of a query, their order, and the rows that it shows of them. */
export class Entries {
  readonly #order: Order;
  readonly #relations: Relations;
  /** Increases when what any object includes may have changed. */
  #version = 0;
  /** The last rows by id, which are shown again where nothing differs. */
  #previous: ReadonlyMap<string, SyncedObject> = new Map();

  constructor(orderBy: OrderBy | undefined, relations: Relations) {
    this.#order = orderOf(orderBy);
    this.#relations = relations;
  }

  of(object: SyncedObject): Entry {
    return { key: this.#order.keyOf(object), object, row: null, rowVersion: 0 };
  }

  newList(): SortedList<Entry, SyncedObject> {
    return new SortedList(this.compare, (entry) => this.#rowOf(entry));
  }

  readonly compare = (left: Entry, right: Entry): number => {
    const { id } = left.object;
    return this.#order.compare(left.key, right.key) || (id < right.object.id ? -1 : Number(id > right.object.id));
  };

  /** Makes the rows anew, because what they include may have changed. */
  includeAnew(): void {
    this.#version++;
  }

  /** Remembers rows that are about to be made anew. */
  rememberRows(rows: readonly SyncedObject[]): void {
    if (!this.#relations.isNone) this.#previous = new Map(rows.map((row) => [row.id, row]));
  }

  forgetRows(): void {
    this.#previous = new Map();
  }

  #rowOf(entry: Entry): SyncedObject {
    if (entry.row === null || entry.rowVersion !== this.#version) {
      entry.row = this.#relations.rowOf(entry.object, entry.row ?? this.#previous.get(entry.object.id));
      entry.rowVersion = this.#version;
    }
    return entry.row;
  }
}
