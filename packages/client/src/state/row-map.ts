import type { LocalKey, Table } from '../ports/local-store.ts';

export interface Row<V> {
  readonly table: Table;
  readonly key: LocalKey;
  readonly value: V;
}

/** Rows at one moment. They are made when they are asked for: to make all of them at once would hold the thread for long. */
export interface RowSnapshot<V> {
  readonly count: number;
  slice(from: number, to: number): readonly Row<V>[];
}

/** Values by table and both parts of a key, in nested maps, in insertion order. */
export class RowMap<V> {
  readonly #tables = new Map<Table, Map<string, Map<string, V>>>();

  get(table: Table, key: LocalKey): V | undefined {
    return this.#tables.get(table)?.get(key[0])?.get(key[1]);
  }

  /** The values whose key begins with `first`; undefined: there are none. */
  group(table: Table, first: string): ReadonlyMap<string, V> | undefined {
    return this.#tables.get(table)?.get(first);
  }

  /** The values of a table by the first part of their key. */
  groups(table: Table): ReadonlyMap<string, ReadonlyMap<string, V>> {
    return this.#tables.get(table) ?? new Map();
  }

  /** Without a value the entry is deleted. */
  set(table: Table, key: LocalKey, value: V | undefined): void {
    const group = this.#tables.get(table)?.get(key[0]) ?? this.#addGroup(table, key[0]);
    if (value !== undefined) group.set(key[1], value);
    else {
      group.delete(key[1]);
      if (group.size === 0) this.#tables.get(table)?.delete(key[0]);
    }
  }

  /** Deletes the values whose key begins with `first`. */
  drop(table: Table, first: string): void {
    this.#tables.get(table)?.delete(first);
  }

  /** Applies writes of rows. */
  apply(writes: readonly { readonly table: Table; readonly key: LocalKey; readonly value?: V }[]): void {
    for (const { table, key, value } of writes) this.set(table, key, value);
  }

  rows(): readonly Row<V>[] {
    const { count, slice } = this.snapshot();
    return slice(0, count);
  }

  /** Copies references only. */
  snapshot(): RowSnapshot<V> {
    const places: (readonly [Table, string])[] = [];
    const seconds: string[] = [];
    const values: V[] = [];
    for (const [table, groups] of this.#tables) {
      for (const [first, group] of groups) {
        const place = [table, first] as const;
        for (const [second, value] of group) {
          places.push(place);
          seconds.push(second);
          values.push(value);
        }
      }
    }
    const rowAt = (second: string, at: number): Row<V> => {
      const [table, first] = places[at] as readonly [Table, string];
      return { table, key: [first, second], value: values[at] as V };
    };
    const slice = (from: number, to: number) =>
      seconds.slice(from, to).map((second, index) => rowAt(second, from + index));
    return { count: seconds.length, slice };
  }

  values(): readonly V[] {
    return [...this.#tables.values()].flatMap((groups) => [...groups.values()].flatMap((group) => [...group.values()]));
  }

  #addGroup(table: Table, first: string): Map<string, V> {
    const group = new Map<string, V>();
    const groups = this.#tables.get(table) ?? new Map<string, Map<string, V>>();
    this.#tables.set(table, groups.set(first, group));
    return group;
  }
}
