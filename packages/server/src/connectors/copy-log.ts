import type { Clock } from '@tidemark/core';
import type { TableProgress } from '@tidemark/postgres';

/** A table is copied in thousands of chunks; so often it is said how far it is. */
const LINE_EVERY_MS = 10_000;

/** What the log says of the copy of a table. */
export interface CopyLine {
  readonly table: string;
  readonly phase: TableProgress['phase'];
  readonly rows: number;
  /** Null: about how many rows the table has is not known. */
  readonly percent: number | null;
  readonly rows_per_s: number;
}

/** Chooses what of the progress of copies is logged: the beginning and the end of each phase, and now and then how far it is. */
export class CopyLog {
  readonly #clock: Clock;
  readonly #last = new Map<string, { readonly phase: string; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Null: it was said lately. */
  lineOf({ table, phase, rows, estimate, rowsPerS }: TableProgress): CopyLine | null {
    const nowMs = this.#clock.nowMs();
    const last = this.#last.get(table);
    if (last?.phase === phase && nowMs - last.atMs < LINE_EVERY_MS) return null;
    this.#last.set(table, { phase, atMs: nowMs });
    // The estimate may be too small; only a table that is ready is done.
    const about = estimate > 0 ? Math.min(99, Math.floor((rows / estimate) * 100)) : null;
    return { table, phase, rows, percent: phase === 'ready' ? 100 : about, rows_per_s: rowsPerS };
  }
}
