import type { EntryBatch, EntryWrite, WriteResult } from '@tidemark/core';
import { eraseFrom } from './erase-from.ts';
import type { MemoryLife } from './memory-life.ts';
import { missingGuard } from './missing-guard.ts';
import { tupleKey } from './tuple-key.ts';

/** Guards and expectations are all about the state before the batch. */
export function writeEntries(life: MemoryLife, batch: EntryBatch, newVersion: () => number): WriteResult {
  const places = new Set(batch.writes.map(({ kind, key }) => tupleKey(kind, ...key)));
  if (places.size !== batch.writes.length) throw new Error('an entry stands twice in a batch');
  const guard = missingGuard(life, batch.guards);
  if (guard !== null) return { status: 'gone', guard };
  if (batch.writes.some((write) => conflicts(life, write))) return { status: 'conflict' };
  for (const write of batch.writes) applyWrite(life, write, newVersion);
  if (batch.erase !== undefined) eraseFrom(life, batch.erase);
  return { status: 'written' };
}

function conflicts(life: MemoryLife, { kind, key, expect }: EntryWrite): boolean {
  return expect !== undefined && expect !== (life.entries.get(tupleKey(kind, ...key))?.version ?? 0);
}

function applyWrite(life: MemoryLife, { kind, key, value }: EntryWrite, newVersion: () => number): void {
  const place = tupleKey(kind, ...key);
  if (value === null) {
    life.entries.delete(place);
  } else {
    life.entries.set(place, { kind, key: [...key], value, version: newVersion() });
  }
}
