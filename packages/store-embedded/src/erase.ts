import type { Erasure } from '@tidemark/core/ports';
import { removeChange } from './changes.ts';
import { removeDocuments } from './documents.ts';
import { removeFilesOf } from './file-index.ts';
import { behind, keyOf } from './keys.ts';
import { removeNotesOf, removeNotesOfSource, removeNotesOfUser } from './notes.ts';
import { type PartitionRow, partitionKeyOf } from './partitions.ts';
import { removeRetainedBytesOfSource, removeRetainedBytesOfUser } from './retained-bytes.ts';
import { removeRange, type Tables } from './tables.ts';
import { removeTidemarksOf, removeTidemarksOn } from './tidemarks.ts';

/** Removes all data of these users, clients and sources. Runs in the writer's transaction. */
export function erase(tables: Tables, { users = [], clients = [], sources = [] }: Erasure): void {
  for (const user of users) eraseUser(tables, user);
  for (const client of clients) eraseClient(tables, client);
  for (const source of sources) eraseSource(tables, source);
}

function eraseUser(tables: Tables, user: string): void {
  const start = keyOf('user', user);
  const end = behind(start);
  const names = [...tables.partitions.getKeys({ start, ...(end === undefined ? {} : { end }) })];
  for (const name of names) removePartition(tables, name);
  removeNotesOfUser(tables, user);
  removeRetainedBytesOfUser(tables, user);
  removeDocuments(tables, ['user', user]);
}

function eraseClient(tables: Tables, client: string): void {
  removeTidemarksOf(tables, client);
  removeNotesOf(tables, client);
  removeDocuments(tables, ['client', client]);
}

function eraseSource(tables: Tables, source: string): void {
  const names = [...tables.partitions.getKeys()].filter((name) => partitionKeyOf(name).source === source);
  for (const name of names) removePartition(tables, name);
  removeNotesOfSource(tables, source);
  removeRetainedBytesOfSource(tables, source);
  removeDocuments(tables, ['shared', source]);
  // The keys of these documents begin with their owner, so all of them are read. Sources are rarely deleted.
  removeDocuments(tables, ['user'], ([, , of]) => of === source);
  removeDocuments(tables, ['client'], ([, , of]) => of === source);
}

function removePartition(tables: Tables, name: Buffer): void {
  const text = tables.partitions.get(name);
  if (text === undefined) return;
  const row = JSON.parse(text) as PartitionRow;
  const { number: partition } = row;
  removeRange(tables.live, [partition, 0], [partition + 1, 0]);
  removeRange(tables.tombstones, [partition, 0], [partition + 1, 0]);
  removeRange(tables.index, [partition, ''], [partition + 1, '']);
  if (row.files !== undefined) removeFilesOf(tables, partition);
  removeTidemarksOn(tables, partition);
  removeChange(tables, partitionKeyOf(name), row);
  tables.partitions.remove(name);
}
