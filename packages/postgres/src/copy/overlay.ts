import { bytesOf, overlaid, type Row } from '../apply/row.ts';

/** The rows of a chunk as they are at the mark after it. */
export interface ClosedWindow {
  readonly rows: ReadonlyMap<string, Row>;
  /** Ids that were asked for by name and have no row. */
  readonly gone: ReadonlySet<string>;
}

/** What the stream said of a row since the window began. */
type Change =
  | { readonly kind: 'gone' }
  /** `replaces`: it is another row than the one in the chunk, which says nothing about it. */
  | { readonly kind: 'row'; readonly row: Row; readonly replaces: boolean };

/** Above either, the overlay has to know which rows the chunk has. */
const ROWS_MAX = 10_000;
const BYTES_MAX = 8_000_000;

/**
 * The changes of one table that the stream brings between the marks before and after a chunk. The chunk was read somewhere in
 * between, so it may or may not contain each of them; laid over it in order, they make it the state at the mark after it.
 */
export class Overlay {
  readonly #changes = new Map<string, Change>();
  #isTruncated = false;
  /** The rows that the chunk may have; null: not known yet. */
  #wanted: ReadonlySet<string> | null = null;
  /** About how much was added. */
  #bytes = 0;

  /** Whether it has to be told which rows the chunk has, because a transaction may change any number of others. */
  get isFull(): boolean {
    return this.#wanted === null && (this.#changes.size >= ROWS_MAX || this.#bytes >= BYTES_MAX);
  }

  /** The number of rows whose changes it keeps. */
  get size(): number {
    return this.#changes.size;
  }

  /** Forgets all other rows, now and later. */
  narrow(ids: ReadonlySet<string>): void {
    this.#wanted = ids;
    for (const id of this.#changes.keys()) if (!ids.has(id)) this.#changes.delete(id);
  }

  insert(id: string, row: Row): void {
    this.#set(id, { kind: 'row', row, replaces: true });
  }

  update(id: string, row: Row): void {
    const before = this.#changes.get(id);
    // After a truncate there is a change before this one: the insert of the row.
    if (before === undefined) this.#set(id, { kind: 'row', row, replaces: false });
    else if (before.kind === 'gone') this.insert(id, row);
    else this.#set(id, { ...before, row: overlaid(before.row, row) });
  }

  delete(id: string): void {
    this.#set(id, { kind: 'gone' });
  }

  truncate(): void {
    this.#changes.clear();
    this.#isTruncated = true;
  }

  /** `named`: the ids that the chunk was read for; null: it is a range of keys. */
  close(chunk: ReadonlyMap<string, Row>, named: readonly string[] | null = null): ClosedWindow {
    const rows = new Map<string, Row>();
    for (const id of new Set([...chunk.keys(), ...(named ?? [])])) {
      const row = this.#rowAt(id, chunk.get(id) ?? null);
      if (row !== null) rows.set(id, row);
    }
    return { rows, gone: new Set((named ?? []).filter((id) => !rows.has(id))) };
  }

  #set(id: string, change: Change): void {
    if (this.#wanted?.has(id) === false) return;
    this.#changes.set(id, change);
    this.#bytes += id.length + (change.kind === 'row' ? bytesOf(change.row) : 0);
  }

  #rowAt(id: string, read: Row | null): Row | null {
    const change = this.#changes.get(id);
    if (change === undefined) return this.#isTruncated ? null : read;
    if (change.kind === 'gone') return null;
    return change.replaces || read === null ? change.row : overlaid(read, change.row);
  }
}
