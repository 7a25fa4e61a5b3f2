import type { MappedTable } from '../apply/row.ts';
import type { Selection } from '../copy/selection.ts';
import type { Chunk } from '../copy/table-reader.ts';
import type { NamedWork } from '../copy/work-queue.ts';
import type { TablePlan } from '../mapping/plan.ts';
import { keyOf } from '../sql/object-id.ts';

/** The rows that named work is about. */
export function selectionOf(
  { kind, names }: NamedWork,
  table: MappedTable,
  tableOf: (label: string) => TablePlan,
): Selection {
  if (kind === 'owner') return { kind, login: [...names][0] ?? '' };
  if (kind === 'keys') return keysSelection(names, table);
  const owner = table.kind === 'objects' ? table.plan.owner : null;
  const columns = owner?.kind === 'through' ? tableOf(owner.parent).key.length : 1;
  return { kind: 'children', parents: [...names].map((name) => keyOf(name, columns)) };
}

export function keysSelection(ids: Iterable<string>, table: MappedTable): Selection {
  return { kind: 'keys', keys: [...ids].map((id) => keyOf(id, table.plan.key.length)) };
}

/** A chunk that is to be read. */
export interface WindowRead {
  readonly table: MappedTable;
  readonly selection: Selection;
  readonly last: readonly string[] | null;
  readonly limit: number;
  /** The ids that the rows are read for; null: a range of rows. */
  readonly named: readonly string[] | null;
  /** Called when its rows are applied. */
  readonly finish: (chunk: Chunk) => Promise<void>;
  /** Returns the chunk behind it, before it is finished; null, or absent: there may be something else to be read. */
  readonly following?: (chunk: Chunk) => WindowRead | null;
}

const CHUNK_ROWS_FIRST = 500;
const CHUNK_ROWS_MIN = 10;
const CHUNK_ROWS_MAX = 10_000;
const CHUNK_BYTES = 4_000_000;

/** How many rows the next chunk of each table has, so that chunks are about equally large in bytes. */
export class ChunkSizes {
  readonly #rows = new Map<string, number>();

  of(label: string): number {
    return this.#rows.get(label) ?? CHUNK_ROWS_FIRST;
  }

  learn(label: string, rows: number, bytes: number): void {
    if (rows === 0) return;
    const wanted = Math.floor(CHUNK_BYTES / Math.max(1, bytes / rows));
    this.#rows.set(label, Math.max(CHUNK_ROWS_MIN, Math.min(CHUNK_ROWS_MAX, wanted)));
  }
}
