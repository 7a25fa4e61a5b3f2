import type { DeviceTidemark, Guard, PartitionKey, WriteResult } from '@tidemark/core/ports';
import { missingGuard } from './guards.ts';
import { keyOf, NUMBER_BYTES, NUMBER_MAX, readNumber, textsOf } from './keys.ts';
import { readPartition } from './partitions.ts';
import type { Tables } from './tables.ts';

// A tidemark is kept as a short text, since there is one per device and source: seq.base.start.seen.epoch, numbers to
// the base 36, and nothing for null.

function markText({ epoch, seq, base, start, seenAtMs }: DeviceTidemark): string {
  return [short(seq), short(base), short(start), short(seenAtMs), epoch].join('.');
}

export function readMark(client: string, text: string): DeviceTidemark {
  const [seq = '', base = '', start = '', seen = '', ...epoch] = text.split('.');
  return {
    client,
    epoch: epoch.join('.'),
    seq: long(seq) ?? 0,
    base: long(base),
    start: long(start),
    seenAtMs: long(seen) ?? 0,
  };
}

function short(value: number | null): string {
  return value === null ? '' : value.toString(36);
}

function long(text: string): number | null {
  return text === '' ? null : Number.parseInt(text, 36);
}

export function readTidemark(tables: Tables, key: PartitionKey, client: string): DeviceTidemark | null {
  const kept = readPartition(tables, key);
  const text = kept === null ? undefined : tables.tidemarks.get(keyOf(kept.number, client));
  return text === undefined ? null : readMark(client, text);
}

export function listTidemarks(
  tables: Tables,
  key: PartitionKey,
  after: string | undefined,
  limit: number,
): readonly DeviceTidemark[] {
  const kept = readPartition(tables, key);
  if (kept === null) return [];
  const { number } = kept;
  const from = after === undefined ? { start: keyOf(number) } : { start: keyOf(number, after), exclusiveStart: true };
  const found = tables.tidemarks.getRange({ ...from, end: keyOf(number + 1), limit });
  return [...found].map(({ key: place, value }) => readMark(clientOf(place), value));
}

function clientOf(place: Uint8Array): string {
  return textsOf(place, NUMBER_BYTES)[0] ?? '';
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
  const kept = readPartition(tables, key);
  if (kept === null) return { status: 'written' };
  putTidemark(tables, kept.number, mark);
  return { status: 'written' };
}

export function putTidemark(tables: Tables, partition: number, mark: DeviceTidemark): void {
  tables.tidemarks.put(keyOf(partition, mark.client), markText(mark));
  tables.marked.put(keyOf(mark.client, partition), '');
}

export function removeTidemarksOn(tables: Tables, partition: number): void {
  for (const place of [...tables.tidemarks.getKeys({ start: keyOf(partition), end: keyOf(partition + 1) })]) {
    tables.tidemarks.remove(place);
    tables.marked.remove(keyOf(clientOf(place), partition));
  }
}

export function removeTidemarksOf(tables: Tables, client: string): void {
  const prefix = keyOf(client);
  for (const place of [...tables.marked.getKeys({ start: prefix, end: keyOf(client, NUMBER_MAX) })]) {
    tables.marked.remove(place);
    tables.tidemarks.remove(keyOf(readNumber(place, prefix.length), client));
  }
}
