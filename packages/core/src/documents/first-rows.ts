import type { SortKey } from './object-order.ts';

/** A row of a list while the rest is read. The object itself is read again at the end, so that rows take little memory. */
export interface FoundRow {
  readonly key: SortKey;
  /** The length of the record. */
  readonly units: number;
}

export interface FirstRowsOptions {
  readonly compare: (left: SortKey, right: SortKey) => number;
  readonly rowsMax: number;
  /** Text of all rows together; the first row is always kept. */
  readonly unitsMax: number;
}

/** Keeps the first rows of an order, and forgets all others. */
export class FirstRows {
  readonly #options: FirstRowsOptions;
  readonly #rows: FoundRow[] = [];
  #units = 0;
  /** The first of the rows that were left out. Rows behind it would leave a gap. */
  #leftOut: FoundRow | null = null;
  #removed: FoundRow | null = null;

  constructor(options: FirstRowsOptions) {
    this.#options = options;
  }

  get rows(): readonly FoundRow[] {
    return this.#rows;
  }

  /** True: rows were left out, which follow behind the others. */
  get hasMore(): boolean {
    return this.#leftOut !== null;
  }

  /** The place behind which the rows follow that were left out; null: there was no row. */
  get end(): SortKey | null {
    // When all rows were removed again, the last of them was still before those that were left out.
    return (this.#rows.at(-1) ?? this.#removed)?.key ?? null;
  }

  add(row: FoundRow): void {
    const { compare, rowsMax, unitsMax } = this.#options;
    if (this.#leftOut !== null && compare(row.key, this.#leftOut.key) > 0) return;
    this.#rows.splice(this.#indexFor(row), 0, row);
    this.#units += row.units;
    while (this.#rows.length > rowsMax || (this.#units > unitsMax && this.#rows.length > 1)) this.#leaveOutLast();
  }

  /** Removes an object that was read again, because it has changed meanwhile. */
  remove(id: string): void {
    const index = this.#rows.findIndex(({ key }) => key[2] === id);
    const row = this.#rows[index];
    if (row === undefined) return;
    this.#units -= row.units;
    this.#rows.splice(index, 1);
    this.#removed = row;
  }

  clear(): void {
    this.#rows.length = 0;
    this.#units = 0;
    this.#leftOut = null;
    this.#removed = null;
  }

  #leaveOutLast(): void {
    const last = this.#rows.pop();
    if (last === undefined) return;
    this.#units -= last.units;
    this.#leftOut = last;
  }

  #indexFor(row: FoundRow): number {
    let [from, to] = [0, this.#rows.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      const other = this.#rows[middle];
      if (other !== undefined && this.#options.compare(other.key, row.key) < 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
