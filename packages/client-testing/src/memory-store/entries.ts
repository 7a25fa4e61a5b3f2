import type { Entry, EntryBatch, EntryList, EntryWrite, Guard, WriteResult } from '@tidemark/core';
import type { MemoryData } from './memory-data.ts';
import { eraseFrom } from './partitions.ts';
import { compareTuples, tupleKey } from './tuples.ts';

export function listEntries(data: MemoryData, { kind, prefix, after, limit }: EntryList): Entry[] {
  return [...data.entries.values()]
    .filter((entry) => entry.kind === kind && prefix.every((part, index) => entry.key[index] === part))
    .filter((entry) => after === undefined || compareTuples(entry.key, after) > 0)
    .sort((left, right) => compareTuples(left.key, right.key))
    .slice(0, limit)
    .map(({ key, value, version }) => ({ key: [...key], value, version }));
}

/** Guards and expectations refer to the state before the batch. */
export function writeEntries(data: MemoryData, batch: EntryBatch, newVersion: () => number): WriteResult {
  const places = new Set(batch.writes.map(({ kind, key }) => tupleKey(kind, ...key)));
  if (places.size !== batch.writes.length) throw new Error('an entry stands twice in a batch');
  const guard = missingGuard(data, batch.guards);
  if (guard !== null) return { status: 'gone', guard };
  if (batch.writes.some((write) => conflicts(data, write))) return { status: 'conflict' };
  for (const write of batch.writes) applyWrite(data, write, newVersion);
  if (batch.erase !== undefined) eraseFrom(data, batch.erase);
  return { status: 'written' };
}

function conflicts(data: MemoryData, { kind, key, expect }: EntryWrite): boolean {
  return expect !== undefined && expect !== (data.entries.get(tupleKey(kind, ...key))?.version ?? 0);
}

function applyWrite(data: MemoryData, { kind, key, value }: EntryWrite, newVersion: () => number): void {
  const mapKey = tupleKey(kind, ...key);
  if (value === null) {
    data.entries.delete(mapKey);
  } else {
    data.entries.set(mapKey, { kind, key: [...key], value, version: newVersion() });
  }
}

/** Returns the first guard that does not exist in the expected version; null: all do. */
export function missingGuard(data: MemoryData, guards: readonly Guard[]): Guard | null {
  return (
    guards.find(({ kind, key, version }) => {
      const entry = data.entries.get(tupleKey(kind, ...key));
      return entry === undefined || (version !== undefined && entry.version !== version);
    }) ?? null
  );
}
