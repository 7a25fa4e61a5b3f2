import type { Entry, EntryBatch, EntryKind, EntryList, EntryRef, WriteResult } from '@tidemark/core';
import { removeDocuments } from './documents.ts';
import { nextNumber } from './facts.ts';
import { behind, keyOf, textsOf } from './keys.ts';
import { partitionKeyOf, removePartition } from './partitions.ts';
import type { Tables } from './tables.ts';
import { removeTidemarksOf } from './tidemarks.ts';

// The value is kept behind its version and a space.

export function readEntry(tables: Tables, ref: EntryRef): Entry | null {
  const text = tables.entries.get(keyOf(ref.kind, ...ref.key));
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

/** The first of these that does not exist. */
export function missingGuard(tables: Tables, guards: readonly EntryRef[]): EntryRef | null {
  return guards.find((guard) => !tables.entries.doesExist(keyOf(guard.kind, ...guard.key))) ?? null;
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
    if (value === null) tables.entries.removeSync(keyOf(kind, ...key));
    else tables.entries.putSync(keyOf(kind, ...key), `${nextNumber(tables, 'entry_version')} ${value}`);
  }
  for (const user of batch.erase?.users ?? []) eraseUser(tables, user);
  for (const client of batch.erase?.clients ?? []) eraseClient(tables, client);
  for (const source of batch.erase?.sources ?? []) eraseSource(tables, source);
  return { status: 'written' };
}

function eraseUser(tables: Tables, user: string): void {
  const start = keyOf('user', user);
  const end = behind(start);
  const names = [...tables.partitions.getKeys({ start, ...(end === undefined ? {} : { end }) })];
  for (const name of names) removePartition(tables, name);
  removeDocuments(tables, ['user', user]);
}

function eraseClient(tables: Tables, client: string): void {
  removeTidemarksOf(tables, client);
  removeDocuments(tables, ['client', client]);
}

function eraseSource(tables: Tables, source: string): void {
  const names = [...tables.partitions.getKeys()].filter((name) => partitionKeyOf(name).source === source);
  for (const name of names) removePartition(tables, name);
  removeDocuments(tables, ['shared', source]);
  // Documents of users and clients stand by owner: sources go so rarely that looking at all of them is fine.
  removeDocuments(tables, ['user'], ([, , of]) => of === source);
  removeDocuments(tables, ['client'], ([, , of]) => of === source);
}
