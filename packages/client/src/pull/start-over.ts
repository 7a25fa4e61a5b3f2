import { type RowScope, rowKey, rowsOf } from '../state/group-rows.ts';
import type { Transaction } from '../state/local-state.ts';
import type { SourceRow } from '../state/rows.ts';

/** Drops the token of the source, so that it starts over. The app sees what it saw until everything has come again. */
export function startOver(tx: Transaction, place: RowScope, row: SourceRow): void {
  const rows = rowsOf(place);
  dropRows(tx, 'staged', rows);
  // The app must not see the objects of a first sync that is not complete.
  if (row.staging?.firstSync !== undefined) dropRows(tx, 'objects', rows);
  tx.put('sources', rowKey(place), { ...row, token: null, staging: null });
}

export function dropRows(tx: Transaction, table: 'staged' | 'objects', rows: string): void {
  for (const [id] of [...tx.entries(table, rows)]) tx.delete(table, [rows, id]);
}
