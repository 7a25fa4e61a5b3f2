import type { RowChange, TableChanges } from '../apply/batch.ts';
import { bytesOf, type Row } from '../apply/row.ts';
import { Overlay } from '../copy/overlay.ts';
import type { Chunk, TableReader } from '../copy/table-reader.ts';
import type { WindowRead } from './table-work.ts';

/** A chunk as it is at the mark after it. */
export interface ClosedChunk {
  readonly chunk: Chunk;
  readonly changes: TableChanges;
  readonly rows: number;
  readonly bytes: number;
}

/** A chunk that is read between two marks, with what the stream brings of its table between them. */
export class CopyWindow {
  readonly read: WindowRead;
  readonly chunk: Promise<Chunk>;
  readonly #marks: { readonly low: string; readonly high: string };
  /** Null: the stream has not arrived at the mark before the chunk. */
  #opened: { readonly overlay: Overlay; readonly xids: readonly number[] } | null = null;

  /** Begins to read. The name distinguishes its marks from those of all others. */
  constructor(reader: Pick<TableReader, 'readBetween'>, read: WindowRead, name: string) {
    this.read = read;
    this.#marks = { low: `${name} low`, high: `${name} high` };
    this.chunk = reader.readBetween(read, this.#marks);
  }

  get isOpen(): boolean {
    return this.#opened !== null;
  }

  /** Returns whether the window ends with this transaction. `xids` are the transactions that the chunk has to see. */
  takeMark(content: string, xids: () => readonly number[]): boolean {
    if (content === this.#marks.low) this.#opened = { overlay: new Overlay(), xids: xids() };
    return content === this.#marks.high;
  }

  overlayOf(label: string): Overlay | null {
    return this.read.table.label === label ? (this.#opened?.overlay ?? null) : null;
  }

  /** The chunk, which does not wait for the stream, says which rows count. */
  async narrow(overlay: Overlay): Promise<void> {
    const { rows } = await this.chunk;
    overlay.narrow(new Set([...rows.keys(), ...(this.read.named ?? [])]));
  }

  /** Null: the chunk does not see all that it has to, so that it is read again. Rows that are held back are read later. */
  async close(isHeld: (id: string) => boolean): Promise<ClosedChunk | null> {
    const chunk = await this.chunk;
    if (this.#opened === null) return null;
    const { overlay, xids } = this.#opened;
    if (!xids.every((xid) => chunk.snapshot.sees(xid))) return null;
    const { rows, gone } = overlay.close(chunk.rows, this.read.named);
    const changes = new Map<string, RowChange>();
    for (const [id, row] of rows) if (!isHeld(id)) changes.set(id, { kind: 'put', row, isNew: false });
    for (const id of gone) if (!isHeld(id)) changes.set(id, { kind: 'delete' });
    return { chunk, changes, rows: rows.size, bytes: bytesOfRows(rows.values()) };
  }
}

function bytesOfRows(rows: Iterable<Row>): number {
  let sum = 0;
  for (const row of rows) sum += bytesOf(row);
  return sum;
}
