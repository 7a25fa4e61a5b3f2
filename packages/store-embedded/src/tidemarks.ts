import type { DeviceTidemark, NoteStore, PartitionKey, TidemarkList, WriteResult } from '@tidemark/core/ports';
import type { Transaction } from 'lmdb';
import { acknowledgedKey, clientIn, indexAcknowledged, removeAcknowledgedOn } from './acknowledged-index.ts';
import type { EngineContext } from './engine-context.ts';
import { missingGuard } from './guards.ts';
import { keyOf, NUMBER_BYTES, NUMBER_MAX, readNumber, textsOf } from './keys.ts';
import { readPartition } from './partitions.ts';
import type { Tables } from './tables.ts';
import type { TidemarkTask } from './tasks.ts';
import { decodeRow, encodeRow, type NumberedPartition, tidemarkOf, tidemarkRow } from './tidemark-row.ts';

export function tidemarks({
  read,
  write,
}: EngineContext): Pick<NoteStore, 'readTidemark' | 'listTidemarks' | 'noteTidemark'> {
  return {
    readTidemark: async (key, client) => readTidemark(read(), key, client),
    listTidemarks: async (key, list) => listTidemarks(read(), key, list),
    noteTidemark: (partition, mark, guards, expect) => write({ kind: 'tidemark', partition, mark, guards, expect }),
  };
}

function readTidemark(tables: Tables, key: PartitionKey, client: string): DeviceTidemark | null {
  const partition = readPartition(tables, key);
  if (partition === null) return null;
  const text = tables.tidemarks.get(keyOf(client, partition.number));
  return text === undefined ? null : tidemarkOf(tables, partition, decodeRow(client, text));
}

/** The rows are ordered by client, so those of a partition are found through its index, and listed in its order. */
function listTidemarks(tables: Tables, key: PartitionKey, { after, limit }: TidemarkList): readonly DeviceTidemark[] {
  const partition = readPartition(tables, key);
  if (partition === null) return [];
  const { number } = partition;
  const from =
    after === undefined
      ? { start: keyOf(number) }
      : { start: acknowledgedKey(number, tidemarkRow(tables, partition, after)), exclusiveStart: true };
  const found = tables.acknowledged.getKeys({ ...from, end: keyOf(number + 1), limit });
  return [...readListed(tables, partition, found)];
}

/** Reads the tidemarks to which these keys of the index lead. */
export function* readListed(
  tables: Tables,
  partition: NumberedPartition,
  indexKeys: Iterable<Uint8Array>,
  snapshot: { readonly transaction?: Transaction } = {},
): Iterable<DeviceTidemark> {
  for (const found of indexKeys) {
    const client = clientIn(found);
    const text = tables.tidemarks.get(keyOf(client, partition.number), snapshot);
    if (text !== undefined) yield tidemarkOf(tables, partition, decodeRow(client, text));
  }
}

/** Returns whose tidemark has this key, and the number of its partition. */
export function tidemarkKeyOf(key: Uint8Array): { readonly client: string; readonly partition: number } {
  const end = key.length - NUMBER_BYTES;
  return { client: textsOf(key.subarray(0, end))[0] ?? '', partition: readNumber(key, end) };
}

// Writing: these run in the writer's transaction

export function applyTidemark(tables: Tables, { partition: key, mark, guards, expect }: TidemarkTask): WriteResult {
  const guard = missingGuard(tables, guards);
  if (guard !== null) return { status: 'gone', guard };
  const partition = readPartition(tables, key);
  if (partition === null) return { status: 'written' };
  if (expect !== undefined) {
    const expected = expect === null ? undefined : encodeRow(tidemarkRow(tables, partition, expect));
    if (tables.tidemarks.get(keyOf(mark.client, partition.number)) !== expected) return { status: 'conflict' };
  }
  putTidemark(tables, partition, mark);
  return { status: 'written' };
}

export function putTidemark(tables: Tables, partition: NumberedPartition, mark: DeviceTidemark): void {
  const { number } = partition;
  const key = keyOf(mark.client, number);
  const before = tables.tidemarks.get(key);
  const row = tidemarkRow(tables, partition, mark);
  indexAcknowledged(tables, number, before === undefined ? null : decodeRow(mark.client, before), row);
  tables.tidemarks.put(key, encodeRow(row));
}

export function removeTidemarksOn(tables: Tables, partition: number): void {
  for (const found of [...tables.acknowledged.getKeys({ start: keyOf(partition), end: keyOf(partition + 1) })]) {
    tables.tidemarks.remove(keyOf(clientIn(found), partition));
  }
  removeAcknowledgedOn(tables, partition);
}

export function removeTidemarksOf(tables: Tables, client: string): void {
  const range = { start: keyOf(client), end: keyOf(client, NUMBER_MAX) };
  for (const { key, value } of [...tables.tidemarks.getRange(range)]) {
    indexAcknowledged(tables, tidemarkKeyOf(key).partition, decodeRow(client, value), null);
    tables.tidemarks.remove(key);
  }
}
