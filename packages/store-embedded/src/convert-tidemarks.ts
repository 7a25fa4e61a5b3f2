import { NUMBER_BYTES, readNumber, textsOf } from './keys.ts';
import { storeEpochs, writeEpochs } from './meta.ts';
import type { PartitionRow } from './partitions.ts';
import { openTextTable, type Tables, tableNames } from './tables.ts';
import { decodeRow } from './tidemark-row.ts';
import { putTidemark } from './tidemarks.ts';

/** The table of format 4: [partition, client] → tidemark with its whole epoch. */
const FORMER_TIDEMARKS = 'tidemarks';
const FORMER_INDEXES = ['client_tidemarks', 'acknowledged', 'acknowledged_counts'];

/** Bounds the size of a transaction. */
const ROWS_PER_STEP = 10_000;

/**
 * Moves the tidemarks of format 4 to the tables of format 5, and yields after each step. A step is one transaction, so a
 * conversion that was interrupted goes on when the store is opened again, and processes that open it at once share the
 * steps. Nothing reads tidemarks before the last step. The former tables stay, empty: a process of an earlier version that
 * still has the store open would crash without them, and what it writes there is moved at the next opening.
 */
export function* convertTidemarks(tables: Tables, rowsPerStep = ROWS_PER_STEP): Iterable<void> {
  if (!tableNames(tables.root).includes(FORMER_TIDEMARKS)) return;
  const former = openTextTable(tables.root, FORMER_TIDEMARKS);
  if (former.getKeysCount({ limit: 1 }) === 0) return;
  const suffixes = epochSuffixes(tables);
  const indexes = FORMER_INDEXES.map((name) => openTextTable(tables.root, name));
  for (let isOver = false; !isOver; ) {
    isOver = tables.root.transactionSync(() => {
      const rows = [...former.getRange({ limit: rowsPerStep })];
      for (const { key, value } of rows) {
        putFormer(tables, suffixes, key, value);
        former.remove(key);
      }
      if (rows.length === rowsPerStep) return false;
      writeEpochs(tables, storeEpochs(tables));
      for (const index of indexes) index.clearSync();
      return true;
    });
    yield;
  }
}

/** Drops a tidemark of a partition that is gone. */
function putFormer(tables: Tables, suffixes: ReadonlyMap<number, string>, key: Uint8Array, value: string): void {
  const number = readNumber(key, 0);
  const epochSuffix = suffixes.get(number);
  if (epochSuffix === undefined) return;
  const { epochName: epoch, ...mark } = decodeRow(textsOf(key, NUMBER_BYTES)[0] ?? '', value);
  putTidemark(tables, { number, epochSuffix }, { ...mark, epoch });
}

function epochSuffixes(tables: Tables): ReadonlyMap<number, string> {
  const suffixes = new Map<number, string>();
  for (const { value } of tables.partitions.getRange({})) {
    const { number, epochSuffix } = JSON.parse(value) as PartitionRow;
    suffixes.set(number, epochSuffix);
  }
  return suffixes;
}
