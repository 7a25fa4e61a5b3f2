import type { JsonValue } from '@tidemark/protocol';
import type { LocalKey, LocalRow, LocalWrite, Table } from '../ports/local-store.ts';
import type { AppVersions } from './app-versions.ts';
import type { DiskWork, OnDisk } from './disk-work.ts';
import { frozen } from './frozen.ts';
import { inSteps, type Pause } from './in-steps.ts';
import { RowMap, type RowSnapshot } from './row-map.ts';
import type { Attributes, Rows } from './rows.ts';

/** Reads rows: the stored ones, or those of a transaction. */
export interface Reader {
  get<T extends Table>(table: T, key: LocalKey): Rows[T] | undefined;
  /**
   * Returns the rows whose key begins with `first`, in insertion order; uploads and staged pages in their own order.
   */
  entries<T extends Table>(table: T, first: string): Iterable<[string, Rows[T]]>;
  readonly versions: AppVersions | null;
}

/** A row before and after a write. */
export interface Change {
  readonly table: Table;
  readonly key: LocalKey;
  readonly before: unknown;
  readonly after: unknown;
}

/**
 * All rows of the device in memory, except objects of sources on the disk. They change by whole transactions, after the store has
 * committed them.
 */
export class LocalState implements Reader {
  #rows = new RowMap<unknown>();
  /** The sources whose objects are not here; null: there are none. */
  onDisk: OnDisk | null = null;
  /** Translates between versions of schemas; null: the app does not say which it was built with. */
  versions: AppVersions | null = null;

  constructor(rows: readonly LocalRow[]) {
    for (const row of inOrder(rows)) this.#add(row);
  }

  /** Does the same in steps. */
  static async load(rows: readonly LocalRow[], pause: Pause): Promise<LocalState> {
    const state = new LocalState([]);
    const ordered = inOrder(rows);
    await inSteps(ordered.length, pause, (from, to) => {
      for (const row of ordered.slice(from, to)) state.#add(row);
    });
    return state;
  }

  get<T extends Table>(table: T, key: LocalKey): Rows[T] | undefined {
    return this.#rows.get(table, key) as Rows[T] | undefined;
  }

  entries<T extends Table>(table: T, first: string): Iterable<[string, Rows[T]]> {
    return (this.group(table, first) ?? []) as Iterable<[string, Rows[T]]>;
  }

  /** The rows whose key begins with `first`; undefined: there are none. */
  group(table: Table, first: string): ReadonlyMap<string, unknown> | undefined {
    return this.#rows.group(table, first);
  }

  count(table: Table, first: string): number {
    return this.group(table, first)?.size ?? 0;
  }

  firsts(table: Table): readonly string[] {
    return [...this.#rows.groups(table).keys()];
  }

  /** Every key of a table. */
  *keys(table: Table): Generator<LocalKey> {
    for (const [first, group] of this.#rows.groups(table)) for (const second of group.keys()) yield [first, second];
  }

  /** Every row as of now. */
  snapshot(): RowSnapshot<JsonValue> {
    return this.#rows.snapshot() as RowSnapshot<JsonValue>;
  }

  /** Takes the rows of another state, which must not be used any more. */
  takeOver(other: LocalState): void {
    this.#rows = other.#rows;
  }

  /** True if the objects with this first part of their keys are on the disk. */
  isOnDisk(first: string): boolean {
    return this.onDisk?.has(first) === true;
  }

  begin(): Transaction {
    return new Transaction(this);
  }

  /** Applies writes. Returns what they changed. What objects on the disk were before, only the transaction knows. */
  apply(writes: readonly LocalWrite[], tx?: Transaction): readonly Change[] {
    return writes.map(({ table, key, value }) => {
      const isOnDisk = table === 'objects' && this.isOnDisk(key[0]);
      const before = isOnDisk ? tx?.disk?.get(key) : this.#rows.get(table, key);
      if (!isOnDisk) this.#rows.set(table, key, value);
      return { table, key, before, after: value };
    });
  }

  /** Takes objects out of memory, because they are on the disk. */
  forget(first: string): void {
    this.#rows.drop('objects', first);
  }

  /** Freezes objects here, because to freeze all of them when they are first shown would take long. */
  #add({ table, key, value }: LocalRow): void {
    this.#rows.set(table, key, table === 'objects' ? frozen(value as Attributes) : value);
  }
}

/** Changes that are not committed yet. Reads include them. */
export class Transaction implements Reader {
  /** What it does with sources on the disk; null: there are none. */
  readonly disk: DiskWork | null;
  readonly versions: AppVersions | null;
  readonly #state: LocalState;
  readonly #written = new RowMap<LocalWrite>();

  constructor(state: LocalState) {
    this.#state = state;
    this.versions = state.versions;
    this.disk = state.onDisk?.begin() ?? null;
  }

  get<T extends Table>(table: T, key: LocalKey): Rows[T] | undefined {
    const write = this.#written.get(table, key);
    if (write !== undefined) return write.value as Rows[T] | undefined;
    return this.isOnDisk(table, key[0]) ? (this.disk?.get(key) as Rows[T] | undefined) : this.#state.get(table, key);
  }

  *entries<T extends Table>(table: T, first: string): Generator<[string, Rows[T]]> {
    if (this.isOnDisk(table, first)) throw new Error(`the objects of ${JSON.stringify(first)} are on the disk`);
    const written = this.#written.group(table, first);
    for (const [second, row] of this.#state.entries(table, first)) {
      const write = written?.get(second);
      const value = write === undefined ? row : (write.value as Rows[T] | undefined);
      if (value !== undefined) yield [second, value];
    }
    for (const [second, { key, value }] of written ?? []) {
      const isNew = value !== undefined && this.#state.get(table, key) === undefined;
      if (isNew) yield [second, value as unknown as Rows[T]];
    }
  }

  isOnDisk(table: Table, first: string): boolean {
    return table === 'objects' && this.disk?.has(first) === true;
  }

  /** Rows are JSON by construction; the store receives them as such. */
  put<T extends Table>(table: T, key: LocalKey, value: Rows[T]): void {
    this.#written.set(table, key, { table, key, value: value as JsonValue });
  }

  delete(table: Table, key: LocalKey): void {
    this.#written.set(table, key, { table, key });
  }

  /** Deletes the rows whose key begins with `first`. Returns the second parts of their keys; null: they are on the disk. */
  drop(table: Table, first: string): readonly string[] | null {
    if (this.isOnDisk(table, first)) {
      this.#written.drop(table, first);
      this.disk?.drop(first);
      return null;
    }
    const seconds = Array.from(this.entries(table, first), ([second]) => second);
    for (const second of seconds) this.delete(table, [first, second]);
    return seconds;
  }

  /** Deletes all rows of the tables. */
  clear(...tables: readonly Table[]): void {
    for (const table of tables) {
      for (const key of this.#state.keys(table)) this.delete(table, key);
      for (const group of this.#written.groups(table).values())
        for (const { key } of group.values()) this.delete(table, key);
    }
    if (tables.includes('objects')) this.disk?.dropAll();
  }

  /** Returns the writes that change something. */
  writes(): readonly LocalWrite[] {
    const written = this.#written.values();
    return written.filter(
      ({ table, key, value }) => this.isOnDisk(table, key[0]) || this.#state.get(table, key) !== value,
    );
  }
}

/** Stores return rows in any order; two tables have an order that matters. */
export function inOrder<R extends LocalWrite>(rows: readonly R[]): readonly R[] {
  const isOrdered = ({ table }: R) => table === 'uploads' || table === 'staged';
  const ordered = rows.filter(isOrdered).sort((left, right) => rankOf(left) - rankOf(right));
  return [...rows.filter((row) => !isOrdered(row)), ...ordered];
}

function rankOf({ table, key, value }: LocalWrite): number {
  if (value === undefined) return -1;
  return table === 'uploads' ? (value as unknown as { readonly order: number }).order : Number(key[1]);
}
