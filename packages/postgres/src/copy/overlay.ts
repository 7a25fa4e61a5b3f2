import { overlaid, type Row } from '../apply/row.ts';

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

/**
 * The changes of one table that the stream brings between the marks before and after a chunk. The chunk was read somewhere in
 * between, so it may or may not contain each of them; laid over it in order, they make it the state at the mark after it.
 */
export class Overlay {
  readonly #changes = new Map<string, Change>();
  #isTruncated = false;

  insert(id: string, row: Row): void {
    this.#changes.set(id, { kind: 'row', row, replaces: true });
  }

  update(id: string, row: Row): void {
    const before = this.#changes.get(id);
    // After a truncate there is a change before this one: the insert of the row.
    if (before === undefined) this.#changes.set(id, { kind: 'row', row, replaces: false });
    else if (before.kind === 'gone') this.insert(id, row);
    else this.#changes.set(id, { ...before, row: overlaid(before.row, row) });
  }

  delete(id: string): void {
    this.#changes.set(id, { kind: 'gone' });
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

  #rowAt(id: string, read: Row | null): Row | null {
    const change = this.#changes.get(id);
    if (change === undefined) return this.#isTruncated ? null : read;
    if (change.kind === 'gone') return null;
    return change.replaces || read === null ? change.row : overlaid(read, change.row);
  }
}
