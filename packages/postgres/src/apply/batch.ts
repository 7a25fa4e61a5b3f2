import { bytesOf, overlaid, type Row } from './row.ts';

/** What a row of a table became. */
export type RowChange =
  /**
   * `isNew`: it was inserted, so that nothing of an earlier row of this id counts. `replaces`: an earlier row of this id was deleted
   * in the same batch.
   */
  | { readonly kind: 'put'; readonly row: Row; readonly isNew: boolean; readonly replaces?: boolean }
  | { readonly kind: 'delete' };

/** Id → change. */
export type TableChanges = ReadonlyMap<string, RowChange>;

/** The changes of one or several transactions, the last of each row. */
export class Batch {
  readonly #tables = new Map<string, Map<string, RowChange>>();
  #rows = 0;
  #bytes = 0;
  /** What there was when the last transaction began. */
  #before = { rows: 0, bytes: 0 };

  /** The number of changes that were added. */
  get rows(): number {
    return this.#rows;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What follows is of another transaction. */
  beginTransaction(): void {
    this.#before = { rows: this.#rows, bytes: this.#bytes };
  }

  /** The number of changes, and the bytes, of the last transaction alone. */
  get lastTransaction(): { readonly rows: number; readonly bytes: number } {
    return { rows: this.#rows - this.#before.rows, bytes: this.#bytes - this.#before.bytes };
  }

  insert(label: string, id: string, row: Row): void {
    const replaces = this.#tables.get(label)?.get(id)?.kind === 'delete';
    this.#set(label, id, { kind: 'put', row, isNew: true, ...(replaces ? { replaces } : {}) });
  }

  update(label: string, id: string, row: Row): void {
    const before = this.#tables.get(label)?.get(id);
    if (before?.kind === 'put') this.#set(label, id, { ...before, row: overlaid(before.row, row) });
    else this.#set(label, id, { kind: 'put', row, isNew: before !== undefined });
  }

  delete(label: string, id: string): void {
    this.#set(label, id, { kind: 'delete' });
  }

  /** Whether the row has taken the id of one that was deleted. */
  isReplaced(label: string, id: string): boolean {
    const change = this.#tables.get(label)?.get(id);
    return change?.kind === 'put' && change.replaces === true;
  }

  /** Leaves the change of a row out. */
  remove(label: string, id: string): void {
    this.#tables.get(label)?.delete(id);
  }

  changesOf(label: string): TableChanges {
    return this.#tables.get(label) ?? new Map();
  }

  #set(label: string, id: string, change: RowChange): void {
    const table = this.#tables.get(label) ?? new Map<string, RowChange>();
    this.#tables.set(label, table);
    table.set(id, change);
    this.#rows++;
    this.#bytes += change.kind === 'put' ? bytesOf(change.row) : id.length;
  }
}
