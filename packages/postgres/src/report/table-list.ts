import type { ConnectorTable } from '@tidemark/protocol';
import type { TableProgress } from '../run/connector-events.ts';
import type { TableState } from '../state/connector-state.ts';

/** As many as a report may have. */
const TABLES_MAX = 1_000;

/** How far each table is. */
export class TableList {
  readonly #tables = new Map<string, ConnectorTable>();

  get all(): ConnectorTable[] {
    return [...this.#tables.values()].slice(0, TABLES_MAX);
  }

  /** Takes the tables of a connection. What was copied before stays known. */
  begin(states: Readonly<Record<string, TableState>>): void {
    const before = new Map(this.#tables);
    this.#tables.clear();
    for (const [table, { source, phase }] of Object.entries(states)) {
      const rows = phase.name === 'copying' ? phase.rows : (before.get(table)?.rows ?? 0);
      const estimate = before.get(table)?.estimate ?? null;
      this.#set({ table, source, phase: phase.name, rows, estimate, rows_per_s: 0 });
    }
  }

  note({ table, phase, rows, estimate, rowsPerS }: TableProgress): void {
    const source = this.#tables.get(table)?.source ?? null;
    const about = estimate === 0 ? null : Math.round(estimate);
    this.#set({ table, source, phase, rows, estimate: about, rows_per_s: phase === 'ready' ? 0 : rowsPerS });
  }

  #set(table: Omit<ConnectorTable, 'percent'>): void {
    this.#tables.set(table.table, { ...table, percent: percentOf(table) });
  }
}

function percentOf({ phase, rows, estimate }: Omit<ConnectorTable, 'percent'>): number | null {
  if (phase === 'ready') return 100;
  if (phase === 'waiting') return 0;
  if (phase !== 'copying' || estimate === null) return null;
  // The estimate may be too small; only a table that is ready is done.
  return Math.min(99, Math.floor((rows / estimate) * 100));
}
