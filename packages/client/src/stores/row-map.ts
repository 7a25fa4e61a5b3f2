import type { JsonValue } from '@tidemark/protocol';
import type { LocalRow, LocalWrite, Table } from '../ports/local-store.ts';

/** Rows in memory by table and both parts of the key, in nested maps. */
export class RowMap {
  readonly #tables = new Map<Table, Map<string, Map<string, JsonValue>>>();
  /** Called with every value that is replaced or deleted. */
  readonly #onGone: (value: JsonValue) => void;

  constructor(rows: readonly LocalRow[] = [], onGone: (value: JsonValue) => void = () => undefined) {
    this.#onGone = onGone;
    this.apply(rows);
  }

  apply(writes: readonly LocalWrite[]): void {
    for (const { table, key, value } of writes) this.#set(table, key[0], key[1], value);
  }

  rows(): readonly LocalRow[] {
    const rows: LocalRow[] = [];
    for (const [table, firsts] of this.#tables) {
      for (const [first, seconds] of firsts) {
        for (const [second, value] of seconds) rows.push({ table, key: [first, second], value });
      }
    }
    return rows;
  }

  #set(table: Table, first: string, second: string, value: JsonValue | undefined): void {
    const seconds = this.#tables.get(table)?.get(first) ?? this.#addGroup(table, first);
    const before = seconds.get(second);
    if (before !== undefined) this.#onGone(before);
    if (value === undefined) seconds.delete(second);
    else seconds.set(second, value);
    if (seconds.size === 0) this.#tables.get(table)?.delete(first);
  }

  #addGroup(table: Table, first: string): Map<string, JsonValue> {
    const seconds = new Map<string, JsonValue>();
    const firsts = this.#tables.get(table) ?? new Map<string, Map<string, JsonValue>>();
    this.#tables.set(table, firsts.set(first, seconds));
    return seconds;
  }
}
