import assert from 'node:assert/strict';
import {
  type DeviceTidemark,
  type DocumentScope,
  type EntryRef,
  type PartitionKey,
  SHARED,
  type StatRow,
  type Store,
} from '@tidemark/core';
import { put, remove } from './change.ts';

// The names collide on purpose: a user has the name of a source, a client that of a user, and so on.
const SOURCES = ['Order', 'Part', 'ann'];
const USERS = ['ann', 'bob', 'Order', 'c1'];
const GROUPS = ['ann', 'north'];
const CLIENTS = ['c1', 'c2', 'ann', 'Part'];

export const POPULATED_PARTITIONS: readonly PartitionKey[] = SOURCES.flatMap((source) =>
  [
    SHARED,
    ...USERS.map((login) => ({ kind: 'user', login }) as const),
    ...GROUPS.map((name) => ({ kind: 'group', name }) as const),
  ].map((owner) => ({ source, owner })),
);

export const POPULATED_SCOPES: readonly DocumentScope[] = [
  { kind: 'server' },
  ...SOURCES.map((source) => ({ kind: 'shared', source }) as const),
  ...SOURCES.flatMap((source) => USERS.map((user) => ({ kind: 'user', source, user }) as const)),
  ...SOURCES.flatMap((source) => GROUPS.map((group) => ({ kind: 'group', source, group }) as const)),
  ...SOURCES.flatMap((source) => CLIENTS.map((client) => ({ kind: 'client', source, client }) as const)),
];

export const POPULATED_ENTRIES: readonly EntryRef[] = [
  ...USERS.map((user) => ({ kind: 'user', key: [user] }) as const),
  ...CLIENTS.map((client) => ({ kind: 'client', key: [client] }) as const),
  ...SOURCES.map((source) => ({ kind: 'source', key: [source] }) as const),
  { kind: 'user_client', key: ['ann', 'c1'] },
  { kind: 'user_client', key: ['bob', 'c2'] },
  { kind: 'token', key: ['hash'] },
  { kind: 'user_token', key: ['ann', 'hash'] },
  { kind: 'setting', key: ['adapter_url'] },
];

/** Writes some of everything: partitions with records and tombstones, tidemarks, documents, entries and statistics. */
export async function populateStore(store: Store): Promise<void> {
  const writes = POPULATED_ENTRIES.map((ref) => ({ ...ref, value: JSON.stringify(ref) }));
  assert.deepEqual(await store.writeEntries({ writes, guards: [] }), { status: 'written' });
  await Promise.all(POPULATED_PARTITIONS.map((key) => populatePartition(store, key)));
  await Promise.all(POPULATED_SCOPES.map((scope) => populateScope(store, scope)));
  await store.addStats([
    statRow('jobs:query:done', 60, 3),
    statRow('jobs:query:done', 120, 5),
    statRow('users', 60, 4),
  ]);
}

async function populatePartition(store: Store, partition: PartitionKey): Promise<void> {
  const first = ['kept', 'moved', 'buried'].map((id) => put(id, JSON.stringify(partition)));
  await store.commit({ partition, changes: first, guards: [] });
  await store.commit({ partition, changes: [put('moved', 'again'), remove('buried')], guards: [] });
  await Promise.all(CLIENTS.map((client) => store.noteTidemark(partition, tidemark(client), [])));
}

async function populateScope(store: Store, scope: DocumentScope): Promise<void> {
  const text = JSON.stringify(scope);
  const shape = { replace: true, guards: [] };
  const objects = new Map([
    ['1', '{"a":1}'],
    ['2', text],
  ]);
  await store.writeDocument({ ...shape, key: { scope, name: 'note' }, type: 'text', parts: new Map([['0', text]]) });
  await store.writeDocument({ ...shape, key: { scope, name: 'things' }, type: 'objects', parts: objects });
}

export function tidemark(client: string, seq = 2): DeviceTidemark {
  return { client, epoch: 'some epoch', seq, base: seq, start: null, seenAtMs: 1_700_000_000_000 };
}

/** Returns a row for one step with a single value. */
export function statRow(metric: string, atS: number, value: number): StatRow {
  return { metric, atS, count: 1, sum: value, min: value, max: value };
}
