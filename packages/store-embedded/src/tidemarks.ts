import type { DeviceTidemark, Guard, NoteStore, PartitionKey, WriteResult } from '@tidemark/core/ports';
import { indexAcknowledged, removeAcknowledgedOn } from './acknowledged.ts';
import type { EngineContext } from './engine-context.ts';
import { missingGuard } from './guards.ts';
import { keyOf, NUMBER_BYTES, NUMBER_MAX, readNumber, textsOf } from './keys.ts';
import { readPartition } from './partitions.ts';
import type { Tables } from './tables.ts';
import { decodeMark, encodeMark } from './tidemark-text.ts';

export function tidemarks({
  read,
  write,
}: EngineContext): Pick<NoteStore, 'readTidemark' | 'listTidemarks' | 'noteTidemark'> {
  return {
    readTidemark: async (key, client) => readTidemark(read(), key, client),
    listTidemarks: async (key, { after, limit }) => listTidemarks(read(), key, after, limit),
    noteTidemark: (partition, mark, guards) => write({ kind: 'tidemark', partition, mark, guards }),
  };
}

function readTidemark(tables: Tables, key: PartitionKey, client: string): DeviceTidemark | null {
  const row = readPartition(tables, key);
  const text = row === null ? undefined : tables.tidemarks.get(keyOf(row.number, client));
  return text === undefined ? null : decodeMark(client, text);
}

function listTidemarks(
  tables: Tables,
  key: PartitionKey,
  after: string | undefined,
  limit: number,
): readonly DeviceTidemark[] {
  const row = readPartition(tables, key);
  if (row === null) return [];
  const { number } = row;
  const from = after === undefined ? { start: keyOf(number) } : { start: keyOf(number, after), exclusiveStart: true };
  const found = tables.tidemarks.getRange({ ...from, end: keyOf(number + 1), limit });
  return [...found].map(({ key: markKey, value }) => decodeMark(clientOf(markKey), value));
}

function clientOf(key: Uint8Array): string {
  return textsOf(key, NUMBER_BYTES)[0] ?? '';
}

// Writing: these run in the writer's transaction

export function applyTidemark(
  tables: Tables,
  key: PartitionKey,
  mark: DeviceTidemark,
  guards: readonly Guard[],
): WriteResult {
  const guard = missingGuard(tables, guards);
  if (guard !== null) return { status: 'gone', guard };
  const row = readPartition(tables, key);
  if (row === null) return { status: 'written' };
  putTidemark(tables, row.number, mark);
  return { status: 'written' };
}

export function putTidemark(tables: Tables, partition: number, mark: DeviceTidemark): void {
  const key = keyOf(partition, mark.client);
  const before = tables.tidemarks.get(key);
  indexAcknowledged(tables, partition, before === undefined ? null : decodeMark(mark.client, before), mark);
  tables.tidemarks.put(key, encodeMark(mark));
  tables.clientTidemarks.put(keyOf(mark.client, partition), '');
}

export function removeTidemarksOn(tables: Tables, partition: number): void {
  removeAcknowledgedOn(tables, partition);
  for (const markKey of [...tables.tidemarks.getKeys({ start: keyOf(partition), end: keyOf(partition + 1) })]) {
    tables.tidemarks.remove(markKey);
    tables.clientTidemarks.remove(keyOf(clientOf(markKey), partition));
  }
}

export function removeTidemarksOf(tables: Tables, client: string): void {
  const prefix = keyOf(client);
  for (const markKey of [...tables.clientTidemarks.getKeys({ start: prefix, end: keyOf(client, NUMBER_MAX) })]) {
    const partition = readNumber(markKey, prefix.length);
    const key = keyOf(partition, client);
    const before = tables.tidemarks.get(key);
    if (before !== undefined) indexAcknowledged(tables, partition, decodeMark(client, before), null);
    tables.clientTidemarks.remove(markKey);
    tables.tidemarks.remove(key);
  }
}
