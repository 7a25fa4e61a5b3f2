import { type RowScope, rowKey, rowsOf, storedRowsOf } from '../state/group-rows.ts';
import type { Transaction } from '../state/local-state.ts';
import type { SourceRow } from '../state/rows.ts';

/** Drops the token of the source, so that it starts over. The app sees what it saw until everything has come again. */
export function startOver(tx: Transaction, place: RowScope, row: SourceRow): void {
  tx.drop('staged', rowsOf(place));
  // The app must not see the objects of a first sync that is not complete.
  if (row.staging?.firstSync !== undefined) tx.drop('objects', storedRowsOf(place, row));
  tx.put('sources', rowKey(place), { ...row, token: null, staging: null });
}
