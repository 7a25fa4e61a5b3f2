import type { Entry, EntryBatch, EntryKind, EntryList, EntryRef, EntryStore, WriteResult } from '@tidemark/core/ports';
import type { EngineContext } from './engine-context.ts';
import { erase } from './erase.ts';
import { missingGuard } from './guards.ts';
import { behind, keyOf, lookUpKey, textsOf } from './keys.ts';
import { nextNumbers } from './meta.ts';
import type { Tables } from './tables.ts';

// An entry is stored as its version, a space and its value.

export function entries({ read, write }: EngineContext): EntryStore {
  return {
    readEntry: async (ref) => readEntry(read(), ref),
    listEntries: async (list) => listEntries(read(), list),
    countEntries: async (kind, prefix = []) => countEntries(read(), kind, prefix),
    writeEntries: (batch) => write({ kind: 'entries', batch }),
  };
}

export function readEntry(tables: Tables, ref: EntryRef): Entry | null {
  const text = tables.entries.get(lookUpKey(ref.kind, ...ref.key));
  return text === undefined ? null : entryOf(ref.key, text);
}

function entryOf(key: readonly string[], text: string): Entry {
  const space = text.indexOf(' ');
  return { key, version: Number(text.slice(0, space)), value: text.slice(space + 1) };
}

function listEntries(tables: Tables, { kind, prefix, after, limit }: EntryList): readonly Entry[] {
  const range = keyOf(kind, ...prefix);
  const end = behind(range);
  const from = after === undefined ? { start: range } : { start: keyOf(kind, ...after), exclusiveStart: true };
  const found = tables.entries.getRange({ ...from, ...(end === undefined ? {} : { end }), limit });
  return [...found].map(({ key, value }) => entryOf(textsOf(key).slice(1), value));
}

function countEntries(tables: Tables, kind: EntryKind, prefix: readonly string[]): number {
  const start = keyOf(kind, ...prefix);
  const end = behind(start);
  return tables.entries.getKeysCount({ start, ...(end === undefined ? {} : { end }) });
}

// Writing: these run in the writer's transaction

export function applyEntries(tables: Tables, batch: EntryBatch): WriteResult {
  const keys = batch.writes.map(({ kind, key }) => keyOf(kind, ...key));
  if (new Set(keys.map((key) => key.toString('latin1'))).size !== keys.length) {
    throw new Error('a batch writes the same entry twice');
  }
  const guard = missingGuard(tables, batch.guards);
  if (guard !== null) return { status: 'gone', guard };
  const isExpected = batch.writes.every(
    ({ expect }, index) => expect === undefined || expect === versionAt(tables, keys[index]),
  );
  if (!isExpected) return { status: 'conflict' };
  let version = nextNumbers(tables, 'entry_version', batch.writes.length);
  for (const [index, { value }] of batch.writes.entries()) {
    const key = keys[index];
    if (key === undefined) continue;
    if (value === null) tables.entries.remove(key);
    else tables.entries.put(key, `${version++} ${value}`);
  }
  if (batch.erase !== undefined) erase(tables, batch.erase);
  return { status: 'written' };
}

/** Returns 0 when there is no such entry. */
function versionAt(tables: Tables, key: Buffer | undefined): number {
  const text = key === undefined ? undefined : tables.entries.get(key);
  return text === undefined ? 0 : Number(text.slice(0, text.indexOf(' ')));
}
