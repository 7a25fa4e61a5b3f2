import type { Entry, EntryBatch, EntryKind, EntryList, EntryRef, WriteResult } from '@tidemark/core';
import { erase } from './erase.ts';
import { nextNumber } from './facts.ts';
import { missingGuard } from './guards.ts';
import { behind, keyOf, lookUp, textsOf } from './keys.ts';
import type { Tables } from './tables.ts';

// The value is kept behind its version and a space.

export function readEntry(tables: Tables, ref: EntryRef): Entry | null {
  const text = tables.entries.get(lookUp(ref.kind, ...ref.key));
  return text === undefined ? null : entryOf(ref.key, text);
}

function entryOf(key: readonly string[], text: string): Entry {
  const space = text.indexOf(' ');
  return { key, version: Number(text.slice(0, space)), value: text.slice(space + 1) };
}

export function listEntries(tables: Tables, { kind, prefix, after, limit }: EntryList): readonly Entry[] {
  const range = keyOf(kind, ...prefix);
  const end = behind(range);
  const from = after === undefined ? { start: range } : { start: keyOf(kind, ...after), exclusiveStart: true };
  const found = tables.entries.getRange({ ...from, ...(end === undefined ? {} : { end }), limit });
  return [...found].map(({ key, value }) => entryOf(textsOf(key).slice(1), value));
}

export function countEntries(tables: Tables, kind: EntryKind): number {
  const start = keyOf(kind);
  const end = behind(start);
  return tables.entries.getKeysCount({ start, ...(end === undefined ? {} : { end }) });
}

// Writing: these run in the writer's transaction

export function applyEntries(tables: Tables, batch: EntryBatch): WriteResult {
  const names = new Set(batch.writes.map(({ kind, key }) => keyOf(kind, ...key).toString('latin1')));
  if (names.size !== batch.writes.length) throw new Error('an entry stands twice in a batch');
  const guard = missingGuard(tables, batch.guards);
  if (guard !== null) return { status: 'gone', guard };
  const isExpected = batch.writes.every(
    (write) => write.expect === undefined || write.expect === (readEntry(tables, write)?.version ?? 0),
  );
  if (!isExpected) return { status: 'conflict' };
  for (const { kind, key, value } of batch.writes) {
    if (value === null) tables.entries.remove(keyOf(kind, ...key));
    else tables.entries.put(keyOf(kind, ...key), `${nextNumber(tables, 'entry_version')} ${value}`);
  }
  if (batch.erase !== undefined) erase(tables, batch.erase);
  return { status: 'written' };
}
