import type { JsonValue } from '@tidemark/protocol';
import { LOAD_STEP_ROWS } from '../limits.ts';
import type { LocalKey, LocalRow, LocalWrite, Table } from '../ports/local-store.ts';
import { frozen } from './frozen.ts';
import type { Attributes, Rows } from './rows.ts';
import { sameJson } from './same-json.ts';

type Group = Map<string, unknown>;
type Groups = Map<string, Group>;

/** Reads rows: the stored ones, or those of a transaction. */
export interface Reader {
  get<T extends Table>(table: T, key: LocalKey): Rows[T] | undefined;
  /**
   * Returns the rows whose key begins with `first`, in insertion order; uploads and staged pages in their own order.
   */
  entries<T extends Table>(table: T, first: string): Iterable<[string, Rows[T]]>;
}

/** A row before and after a transaction. */
export interface Change {
  readonly table: Table;
  readonly key: LocalKey;
  readonly before: unknown;
  readonly after: unknown;
}

/** All rows of the device in memory. They change by whole transactions, after the store has committed them. */
export class LocalState implements Reader {
  readonly #tables = new Map<Table, Groups>();

  constructor(rows: readonly LocalRow[]) {
    for (const row of inOrder(rows)) this.#add(row);
  }

  /** Does the same in steps, so that the thread is free between them. */
  static async load(rows: readonly LocalRow[], pause: () => Promise<void>): Promise<LocalState> {
    const state = new LocalState([]);
    for (const [index, row] of inOrder(rows).entries()) {
      if (index > 0 && index % LOAD_STEP_ROWS === 0) await pause();
      state.#add(row);
    }
    return state;
  }

  get<T extends Table>(table: T, [first, second]: LocalKey): Rows[T] | undefined {
    return this.#tables.get(table)?.get(first)?.get(second) as Rows[T] | undefined;
  }

  *entries<T extends Table>(table: T, first: string): Generator<[string, Rows[T]]> {
    const group = this.#tables.get(table)?.get(first);
    if (group !== undefined) yield* group as Map<string, Rows[T]>;
  }

  /** The rows whose key begins with `first`; undefined: there are none. */
  group(table: Table, first: string): ReadonlyMap<string, unknown> | undefined {
    return this.#tables.get(table)?.get(first);
  }

  count(table: Table, first: string): number {
    return this.#tables.get(table)?.get(first)?.size ?? 0;
  }

  firsts(table: Table): readonly string[] {
    return [...(this.#tables.get(table)?.keys() ?? [])];
  }

  /** Every key of a table. */
  *keys(table: Table): Generator<LocalKey> {
    for (const [first, group] of this.#tables.get(table) ?? [])
      for (const second of group.keys()) yield [first, second];
  }

  /** Returns what makes this state equal to the rows. */
  differenceTo(rows: readonly LocalRow[]): readonly Change[] {
    const changes: Change[] = [];
    const kept = new Map<Table, Map<string, Set<string>>>();
    for (const { table, key, value } of inOrder(rows)) {
      const before: unknown = this.get(table, key);
      const groups = madeAt<Table, Map<string, Set<string>>>(kept, table, () => new Map());
      madeAt<string, Set<string>>(groups, key[0], () => new Set()).add(key[1]);
      if (!sameJson(before as JsonValue | undefined, value)) changes.push({ table, key, before, after: value });
    }
    for (const [table, groups] of this.#tables) {
      for (const [first, group] of groups) {
        for (const [second, before] of group) {
          if (kept.get(table)?.get(first)?.has(second)) continue;
          changes.push({ table, key: [first, second], before, after: undefined });
        }
      }
    }
    return changes;
  }

  /** Returns the writes of another tab as changes of this state. */
  changesBy(writes: readonly LocalWrite[]): readonly Change[] {
    return writes.map(({ table, key, value }) => ({ table, key, before: this.get(table, key), after: value }));
  }

  /** Every row. */
  rows(): readonly LocalRow[] {
    const rows: LocalRow[] = [];
    for (const [table, groups] of this.#tables) {
      for (const [first, group] of groups) {
        for (const [second, value] of group) rows.push({ table, key: [first, second], value: value as JsonValue });
      }
    }
    return rows;
  }

  begin(): Transaction {
    return new Transaction(this);
  }

  apply(changes: readonly Change[]): void {
    for (const { table, key, after } of changes) this.#set(table, key, after);
  }

  /** Freezes objects here, because to freeze all of them when they are first shown would take long. */
  #add({ table, key, value }: LocalRow): void {
    this.#set(table, key, table === 'objects' ? frozen(value as Attributes) : value);
  }

  #set(table: Table, [first, second]: LocalKey, value: unknown): void {
    const groups = madeAt<Table, Groups>(this.#tables, table, () => new Map());
    const group = madeAt<string, Group>(groups, first, () => new Map());
    if (value === undefined) group.delete(second);
    else group.set(second, value);
    if (group.size === 0) groups.delete(first);
  }
}

/** Changes that are not committed yet. Reads include them. */
export class Transaction implements Reader {
  readonly #state: LocalState;
  readonly #written = new Map<Table, Groups>();

  constructor(state: LocalState) {
    this.#state = state;
  }

  get<T extends Table>(table: T, key: LocalKey): Rows[T] | undefined {
    const group = this.#written.get(table)?.get(key[0]);
    return group?.has(key[1]) ? (group.get(key[1]) as Rows[T] | undefined) : this.#state.get(table, key);
  }

  *entries<T extends Table>(table: T, first: string): Generator<[string, Rows[T]]> {
    const written = this.#written.get(table)?.get(first);
    for (const [second, row] of this.#state.entries(table, first)) {
      const value = written?.has(second) ? (written.get(second) as Rows[T] | undefined) : row;
      if (value !== undefined) yield [second, value];
    }
    for (const [second, value] of written ?? []) {
      const isNew = value !== undefined && this.#state.get(table, [first, second]) === undefined;
      if (isNew) yield [second, value as Rows[T]];
    }
  }

  put<T extends Table>(table: T, key: LocalKey, value: Rows[T]): void {
    this.#write(table, key, value);
  }

  delete(table: Table, key: LocalKey): void {
    this.#write(table, key, undefined);
  }

  /** Deletes all rows of the tables. */
  clear(...tables: readonly Table[]): void {
    for (const table of tables) {
      for (const key of this.#state.keys(table)) this.delete(table, key);
      for (const group of this.#written.get(table)?.values() ?? [])
        for (const second of group.keys()) group.set(second, undefined);
    }
  }

  /** Returns the difference to the initial state. */
  changes(): readonly Change[] {
    const changes: Change[] = [];
    for (const [table, groups] of this.#written) {
      for (const [first, group] of groups) {
        const held = this.#state.group(table, first);
        for (const [second, after] of group) {
          const before = held?.get(second);
          if (before !== after) changes.push({ table, key: [first, second], before, after });
        }
      }
    }
    return changes;
  }

  #write(table: Table, [first, second]: LocalKey, value: unknown): void {
    const groups = madeAt<Table, Groups>(this.#written, table, () => new Map());
    madeAt<string, Group>(groups, first, () => new Map()).set(second, value);
  }
}

/** Rows are JSON by construction; the store receives them as such. */
export function writesOf(changes: readonly Change[]): readonly LocalWrite[] {
  return changes.map(({ table, key, after }) =>
    after === undefined ? { table, key } : { table, key, value: after as JsonValue },
  );
}

/** Stores return rows in any order; two tables have an order that matters. */
function inOrder(rows: readonly LocalRow[]): readonly LocalRow[] {
  const isOrdered = ({ table }: LocalRow) => table === 'uploads' || table === 'staged';
  const ordered = rows.filter(isOrdered).sort((left, right) => rankOf(left) - rankOf(right));
  return [...rows.filter((row) => !isOrdered(row)), ...ordered];
}

function rankOf({ table, key, value }: LocalRow): number {
  return table === 'uploads' ? (value as unknown as { readonly order: number }).order : Number(key[1]);
}

function madeAt<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
