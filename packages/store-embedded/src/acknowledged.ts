import {
  type AcknowledgedCount,
  type AcknowledgedList,
  type AcknowledgedRange,
  acknowledgedSeq,
  type DeviceTidemark,
  type NoteStore,
  type PartitionKey,
} from '@tidemark/core/ports';
import type { EngineContext } from './engine-context.ts';
import { keyOf, NUMBER_BYTES, readNumber, textsOf } from './keys.ts';
import { readPartition } from './partitions.ts';
import { removeRange, type Tables } from './tables.ts';
import { decodeMark } from './tidemark-text.ts';

// An index over the tidemarks of a partition by what they acknowledge. LMDB cannot count a range without walking it, so
// the number of all tidemarks of an epoch is kept, and only those below a seq are walked.

export function acknowledged({ read }: EngineContext): Pick<NoteStore, 'countAcknowledged' | 'listAcknowledged'> {
  return {
    countAcknowledged: async (key, range) => countAcknowledged(read(), key, range),
    listAcknowledged: async (key, list) => listAcknowledged(read(), key, list),
  };
}

function countAcknowledged(tables: Tables, key: PartitionKey, { epoch, below }: AcknowledgedRange): AcknowledgedCount {
  const row = readPartition(tables, key);
  if (row === null) return { devices: 0, below: 0 };
  const range = { start: keyOf(row.number, epoch, 0), end: keyOf(row.number, epoch, below) };
  return {
    devices: Number(tables.acknowledgedCounts.get(keyOf(row.number, epoch)) ?? '0'),
    below: tables.acknowledged.getKeysCount(range),
  };
}

function listAcknowledged(
  tables: Tables,
  key: PartitionKey,
  { epoch, below, after, limit }: AcknowledgedList,
): readonly DeviceTidemark[] {
  const row = readPartition(tables, key);
  if (row === null) return [];
  const { number } = row;
  const from =
    after === undefined
      ? { start: keyOf(number, epoch, 0) }
      : { start: keyOf(number, epoch, acknowledgedSeq(after), after.client), exclusiveStart: true };
  const clientAt = keyOf(number, epoch).length + NUMBER_BYTES;
  const marks: DeviceTidemark[] = [];
  for (const found of tables.acknowledged.getKeys({ ...from, end: keyOf(number, epoch, below), limit })) {
    const client = textsOf(found, clientAt)[0] ?? '';
    const text = tables.tidemarks.get(keyOf(number, client));
    if (text !== undefined) marks.push(decodeMark(client, text));
  }
  return marks;
}

// Writing: these run in the writer's transaction

/** Moves a client in the index from its tidemark before to the one after. Null: there is none. */
export function indexAcknowledged(
  tables: Tables,
  partition: number,
  before: DeviceTidemark | null,
  after: DeviceTidemark | null,
): void {
  if (before !== null) tables.acknowledged.remove(acknowledgedKey(partition, before));
  if (after !== null) tables.acknowledged.put(acknowledgedKey(partition, after), '');
  if (before?.epoch === after?.epoch) return;
  if (before !== null) addToCount(tables, partition, before.epoch, -1);
  if (after !== null) addToCount(tables, partition, after.epoch, 1);
}

export function acknowledgedKey(partition: number, mark: DeviceTidemark): Buffer {
  return keyOf(partition, mark.epoch, acknowledgedSeq(mark), mark.client);
}

function addToCount(tables: Tables, partition: number, epoch: string, by: number): void {
  const key = keyOf(partition, epoch);
  const count = Number(tables.acknowledgedCounts.get(key) ?? '0') + by;
  if (count > 0) tables.acknowledgedCounts.put(key, String(count));
  else tables.acknowledgedCounts.remove(key);
}

export function removeAcknowledgedOn(tables: Tables, partition: number): void {
  const range = [keyOf(partition), keyOf(partition + 1)] as const;
  removeRange(tables.acknowledged, ...range);
  removeRange(tables.acknowledgedCounts, ...range);
}

/**
 * Builds the index anew when it does not have as many entries as there are tidemarks: the store was written by a version
 * without it. Comparing the two numbers costs nothing, so every opening does.
 */
export function completeAcknowledged(tables: Tables): void {
  if (isComplete(tables)) return;
  tables.root.transactionSync(() => {
    // Of several processes that open the store, the first one does it.
    if (isComplete(tables)) return;
    tables.acknowledged.clearSync();
    tables.acknowledgedCounts.clearSync();
    const counts = new Map<string, number>();
    for (const { key, value } of tables.tidemarks.getRange({})) {
      const partition = readNumber(key, 0);
      const mark = decodeMark(textsOf(key, NUMBER_BYTES)[0] ?? '', value);
      tables.acknowledged.put(acknowledgedKey(partition, mark), '');
      const countKey = keyOf(partition, mark.epoch).toString('latin1');
      counts.set(countKey, (counts.get(countKey) ?? 0) + 1);
    }
    for (const [key, count] of counts) tables.acknowledgedCounts.put(Buffer.from(key, 'latin1'), String(count));
  });
}

function isComplete({ acknowledged: index, tidemarks }: Tables): boolean {
  return entriesOf(index) === entriesOf(tidemarks);
}

function entriesOf(table: Tables['tidemarks']): number {
  return (table.getStats() as { readonly entryCount: number }).entryCount;
}
