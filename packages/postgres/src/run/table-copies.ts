import type { MappedTable } from '../apply/row.ts';
import type { Chunk } from '../copy/table-reader.ts';
import type { TablePhase } from '../state/connector-state.ts';
import type { MappedTables } from './mapped-tables.ts';
import type { StoredRows } from './stored-rows.ts';
import { type ChunkSizes, keysSelection, type WindowRead } from './table-work.ts';

type CopyingPhase = Extract<TablePhase, { readonly name: 'copying' }>;

export interface TableCopiesParts {
  readonly tables: MappedTables;
  readonly stored: StoredRows;
  readonly sizes: ChunkSizes;
  readonly onCopied: (table: MappedTable, phase: TablePhase) => void;
}

/** The copies of whole tables, and the search for rows that are gone, one table after the other. */
export class TableCopies {
  readonly #parts: TableCopiesParts;

  constructor(parts: TableCopiesParts) {
    this.#parts = parts;
  }

  /** The next chunk; null: every table is ready. */
  async next(): Promise<WindowRead | null> {
    for (const table of this.#parts.tables.ordered) {
      const read = await this.#read(table);
      if (read !== null) return read;
    }
    return null;
  }

  async #read(table: MappedTable): Promise<WindowRead | null> {
    const { tables } = this.#parts;
    const phase = tables.phaseOf(table.label);
    if (phase.name === 'waiting') {
      tables.setPhase(table.label, { name: 'copying', last: null, rows: 0, verifies: phase.verifies });
      return this.#read(table);
    }
    if (phase.name === 'copying') return this.#copy(table, phase);
    return phase.name === 'verifying' ? this.#verify(table, phase) : null;
  }

  #copy(table: MappedTable, phase: CopyingPhase): WindowRead {
    const { tables, sizes, onCopied } = this.#parts;
    // Asked for twice for each chunk, and it has to be the same each time.
    let then: CopyingPhase | null = null;
    const copiedBy = ({ last, rows }: Chunk) => {
      then ??= { ...phase, last: last ?? phase.last, rows: phase.rows + rows.size };
      return then;
    };
    const finish = async (chunk: Chunk) => {
      // It was truncated or changed meanwhile.
      if (tables.phaseOf(table.label) !== phase) return;
      const copied = copiedBy(chunk);
      const after: TablePhase = phase.verifies ? { name: 'verifying', after: 0 } : { name: 'ready' };
      onCopied(table, copied);
      tables.setPhase(table.label, chunk.isEnd ? after : copied);
      if (chunk.isEnd) onCopied(table, after);
    };
    const following = (chunk: Chunk) => (chunk.isEnd ? null : this.#copy(table, copiedBy(chunk)));
    const limit = sizes.of(table.label);
    return { table, selection: { kind: 'all' }, last: phase.last, limit, named: null, finish, following };
  }

  /** Reads the rows of objects that Tidemark has; those that have no row are deleted. */
  async #verify(
    table: MappedTable,
    phase: Extract<TablePhase, { readonly name: 'verifying' }>,
  ): Promise<WindowRead | null> {
    const { tables, stored, onCopied } = this.#parts;
    const { objects, next } = await stored.page(table.label, tables.state(table.label), phase.after);
    const then: TablePhase = next === null ? { name: 'ready' } : { name: 'verifying', after: next };
    if (objects.length === 0) {
      tables.setPhase(table.label, then);
      onCopied(table, then);
      return this.#read(table);
    }
    const named = objects.map(({ id }) => id);
    const finish = async () => {
      if (tables.phaseOf(table.label) !== phase) return;
      tables.setPhase(table.label, then);
      onCopied(table, then);
    };
    return { table, selection: keysSelection(named, table), last: null, limit: named.length, named, finish };
  }
}
