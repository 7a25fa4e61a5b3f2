import type { DeviceTidemark, Guard, NoteStore, PartitionKey, WriteResult } from '@tidemark/core/ports';
import type { EngineContext } from './engine-context.ts';
import { missingGuard } from './guards.ts';
import { keyOf, NUMBER_BYTES, NUMBER_MAX, readNumber, textsOf } from './keys.ts';
import { readPartition } from './partitions.ts';
import type { Tables } from './tables.ts';

// A tidemark is stored as a short text, because there is one per device and source: seq.base.start.seen.epoch, with
// numbers in base 36 and nothing for null.

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

function encodeMark({ epoch, seq, base, start, seenAtMs }: DeviceTidemark): string {
  return [toBase36(seq), toBase36(base), toBase36(start), toBase36(seenAtMs), epoch].join('.');
}

export function decodeMark(client: string, text: string): DeviceTidemark {
  const [seq = '', base = '', start = '', seen = '', ...epoch] = text.split('.');
  return {
    client,
    epoch: epoch.join('.'),
    seq: fromBase36(seq) ?? 0,
    base: fromBase36(base),
    start: fromBase36(start),
    seenAtMs: fromBase36(seen) ?? 0,
  };
}

function toBase36(value: number | null): string {
  return value === null ? '' : value.toString(36);
}

function fromBase36(text: string): number | null {
  return text === '' ? null : Number.parseInt(text, 36);
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
  tables.tidemarks.put(keyOf(partition, mark.client), encodeMark(mark));
  tables.clientTidemarks.put(keyOf(mark.client, partition), '');
}

export function removeTidemarksOn(tables: Tables, partition: number): void {
  for (const markKey of [...tables.tidemarks.getKeys({ start: keyOf(partition), end: keyOf(partition + 1) })]) {
    tables.tidemarks.remove(markKey);
    tables.clientTidemarks.remove(keyOf(clientOf(markKey), partition));
  }
}

export function removeTidemarksOf(tables: Tables, client: string): void {
  const prefix = keyOf(client);
  for (const markKey of [...tables.clientTidemarks.getKeys({ start: prefix, end: keyOf(client, NUMBER_MAX) })]) {
    tables.clientTidemarks.remove(markKey);
    tables.tidemarks.remove(keyOf(readNumber(markKey, prefix.length), client));
  }
}
