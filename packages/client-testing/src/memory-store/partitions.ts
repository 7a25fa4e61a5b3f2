import {
  type ChangedQuery,
  type ChangedRead,
  type DocumentScope,
  type Erasure,
  ownerText,
  type PartitionKey,
} from '@tidemark/core';
import { type MemoryData, partitionOf } from './memory-data.ts';
import { compareTuples } from './tuples.ts';

interface PartitionList {
  readonly after?: PartitionKey;
  readonly limit: number;
}

/** Ordered by source, then by owner; the shared partition of a source comes first. */
export function listPartitions(data: MemoryData, { after, limit }: PartitionList): PartitionKey[] {
  return [...data.partitions.values()]
    .map(({ key }) => key)
    .sort(compareKeys)
    .filter((key) => after === undefined || compareKeys(key, after) > 0)
    .slice(0, limit);
}

function compareKeys(left: PartitionKey, right: PartitionKey): number {
  return compareTuples(tupleOf(left), tupleOf(right));
}

function tupleOf({ source, owner }: PartitionKey): readonly string[] {
  const text = ownerText(owner);
  return text === null ? [source] : [source, text];
}

/** `storeId` keeps the marks of different stores of the same epoch apart. */
export function changedSince(data: MemoryData, storeId: string, { source, owners, mark }: ChangedQuery): ChangedRead {
  const prefix = `${data.epoch}.${storeId}.`;
  const now = `${prefix}${data.lastChange}`;
  const after = mark?.startsWith(prefix) === true ? Number(mark.slice(prefix.length)) : Number.NaN;
  if (!(after <= data.lastChange)) return { mark: now, changed: null };
  const changed = [...owners].filter((owner) => partitionOf(data, { source, owner }).changed > after);
  return { mark: now, changed };
}

export function eraseFrom(data: MemoryData, erasure: Erasure): void {
  const users = new Set(erasure.users);
  const sources = new Set(erasure.sources);
  const clients = new Set(erasure.clients);
  const isErased = ({ source, owner }: PartitionKey) =>
    sources.has(source) || (owner.kind === 'user' && users.has(owner.login));
  deleteWhere(data.partitions, ({ key }) => isErased(key));
  deleteWhere(data.documents, ({ scope }) => isErasedScope(scope, erasure));
  deleteWhere(data.notes, ({ partition, client }) => isErased(partition) || clients.has(client));
  for (const { tidemarks } of data.partitions.values()) {
    for (const client of clients) tidemarks.delete(client);
  }
}

function deleteWhere<T>(map: Map<string, T>, isErased: (value: T) => boolean): void {
  for (const [key, value] of map) if (isErased(value)) map.delete(key);
}

function isErasedScope(scope: DocumentScope, { users = [], clients = [], sources = [] }: Erasure): boolean {
  if (scope.kind === 'server') return false;
  if (sources.includes(scope.source)) return true;
  if (scope.kind === 'user') return users.includes(scope.user);
  return scope.kind === 'client' && clients.includes(scope.client);
}
