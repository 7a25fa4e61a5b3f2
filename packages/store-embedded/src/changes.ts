import { type ChangedQuery, type ChangedRead, type Owner, ownerText, type PartitionKey } from '@tidemark/core/ports';
import { keyOf, NUMBER_BYTES, NUMBER_MAX, readNumber } from './keys.ts';
import { changesId, lastNumber, newId, nextNumber, storeEpoch } from './meta.ts';
import { type PartitionRow, readPartition } from './partitions.ts';
import type { Tables } from './tables.ts';

// The order of changes: one more journal, whose objects are the partitions of a source that groups own. A partition occurs in it
// once, at its last commit, so what changed after a mark is one range.

/** When more partitions than this have changed after a mark, those in question are looked up one by one. */
const CHANGES_PER_READ_MAX = 1_000;

export function changedSince(tables: Tables, { source, owners, mark }: ChangedQuery): ChangedRead {
  const prefix = `${storeEpoch(tables)}.${changesId(tables)}.`;
  const after = mark?.startsWith(prefix) === true ? Number.parseInt(mark.slice(prefix.length), 36) : null;
  const markAt = (number: number) => prefix + number.toString(36);
  if (after === null || !(after <= lastNumber(tables, 'change'))) {
    return { mark: markAt(lastChange(tables, source)), changed: null };
  }
  const rows = [...tables.changes.getRange({ ...rangeAfter(source, after), limit: CHANGES_PER_READ_MAX + 1 })];
  if (rows.length === 0) return { mark: markAt(after), changed: [] };
  if (rows.length > CHANGES_PER_READ_MAX) {
    const isChanged = (owner: Owner) => (readPartition(tables, { source, owner })?.changed ?? 0) > after;
    return { mark: markAt(lastChange(tables, source)), changed: [...owners].filter(isChanged) };
  }
  const changed = new Set(rows.map(({ value }) => value));
  const last = rows.at(-1)?.key ?? keyOf(source, after);
  return { mark: markAt(numberIn(last)), changed: [...owners].filter((owner) => changed.has(ownerText(owner) ?? '')) };
}

function rangeAfter(source: string, number: number): { readonly start: Buffer; readonly end: Buffer } {
  return { start: keyOf(source, number + 1), end: keyOf(source, NUMBER_MAX) };
}

/** The number of the last change of a source; 0: there is none. */
function lastChange(tables: Tables, source: string): number {
  const backwards = { start: keyOf(source, NUMBER_MAX), end: keyOf(source, 0), reverse: true, limit: 1 };
  for (const key of tables.changes.getKeys(backwards)) return numberIn(key);
  return 0;
}

function numberIn(key: Uint8Array): number {
  return readNumber(key, key.length - NUMBER_BYTES);
}

/** Called when a store is opened. Of several processes, the first one decides. */
export function beginChanges(tables: Tables): void {
  if (changesId(tables) !== '') return;
  tables.root.transactionSync(() => {
    if (changesId(tables) === '') tables.meta.put('changes_id', newId());
  });
}

// Writing: these run in the writer's transaction

/** Moves the partition of a group to the end of the order. Returns the row with its new number. */
export function numberedChange(tables: Tables, key: PartitionKey, row: PartitionRow): PartitionRow {
  const owner = key.owner.kind === 'group' ? ownerText(key.owner) : null;
  if (owner === null) return row;
  removeChange(tables, key, row);
  const changed = nextNumber(tables, 'change');
  tables.changes.put(keyOf(key.source, changed), owner);
  return { ...row, changed };
}

export function removeChange(tables: Tables, { source }: PartitionKey, { changed }: PartitionRow): void {
  if (changed !== undefined) tables.changes.remove(keyOf(source, changed));
}
