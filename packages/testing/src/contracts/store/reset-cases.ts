import assert from 'node:assert/strict';
import type { EntryRef, Finding, Store } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { put, readRecord, remove } from './change.ts';
import { observeStore } from './observe-store.ts';
import { POPULATED_PARTITIONS, populateStore, statRow, tidemark } from './populate-store.ts';
import { committed, ORDERS, WHOLE } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const KEPT: readonly EntryRef[] = [
  { kind: 'user', key: ['ann'] },
  { kind: 'user_token', key: ['ann', 'hash'] },
  { kind: 'setting', key: ['adapter_url'] },
];
const NOTE = { scope: { kind: 'server' }, name: 'note' } as const;

/** Cases about reset and close. */
export const resetCases: readonly StoreCase[] = [
  storeCase('[STORE-57] a reset keeps exactly the named entries', async ({ store }) => {
    await populateStore(store);
    const kept = await Promise.all(KEPT.map(async (ref) => [ref.kind, [await store.readEntry(ref)]] as const));
    const missing = { kind: 'user', key: ['nobody'] } as const;
    const epoch = await store.reset([...KEPT, missing]);
    const empty = (['client', 'user_client', 'source', 'token'] as const).map((kind) => [kind, []] as const);
    const entries = new Map<string, unknown>([...kept, ...empty]);
    const nothing = { epoch, partitions: [], documents: [], entries, stats: new Map() };
    assert.deepEqual(await observeStore(store), nothing);
    for (const key of POPULATED_PARTITIONS) {
      assert.deepEqual(await store.partition(key), { epoch, head: 0, floor: 0, size: 0, checksum: 0 });
      assert.deepEqual((await store.readObjects(key, ['kept', 'buried'])).objects, new Map());
      assert.deepEqual(await store.listTidemarks(key, { limit: 10 }), []);
    }
    assert.equal(await store.readDocument(NOTE), null);
  }),
  storeCase('[STORE-57] a reset that keeps nothing empties the store, which stays usable', async ({ store }) => {
    await populateStore(store);
    const before = await observeStore(store);
    await store.reset([]);
    assert.deepEqual(await store.listEntries({ kind: 'user', prefix: [], limit: 10 }), []);
    assert.equal((await committed(store, [put('kept', 'v', 0)], { expectHead: 0 })).head, 1);
    await store.reset([]);
    await populateStore(store);
    const after = await observeStore(store);
    assert.deepEqual(
      after.partitions.map(({ key }) => key),
      before.partitions.map(({ key }) => key),
    );
    assert.deepEqual(after.stats, before.stats);
  }),
  storeCase('[STORE-58] a reset changes all epochs', async ({ store }) => {
    const epochs: string[] = [];
    for (let round = 0; round < 3; round++) {
      epochs.push(await store.epoch());
      epochs.push((await committed(store, [put('1')])).epoch);
      assert.equal(await store.reset([]), await store.epoch());
      assert.equal((await store.partition(ORDERS)).epoch, await store.epoch());
    }
    assert.equal(new Set(epochs).size, 6);
  }),
  storeCase('[STORE-8] once closed, every call is refused with store_unavailable', async ({ store }) => {
    await populateStore(store);
    await store.close();
    for (const [name, call] of Object.entries(everyCall(store))) {
      await assert.rejects(
        async () => call(),
        (error) => error instanceof Refusal && error.code === 'store_unavailable',
        `${name} did not refuse`,
      );
    }
  }),
  storeCase('[STORE-62] close finishes running writes', async ({ store }) => {
    const parts = new Map([['0', 'v']]);
    const writing = Promise.all([
      ...Array.from({ length: 20 }, (_, number) => committed(store, [put(`${number}`)])),
      store.writeDocument({ key: NOTE, type: 'text', replace: true, parts, guards: [] }),
      store.writeEntries({ writes: [{ kind: 'user', key: ['ann'], value: 'v' }], guards: [] }),
    ]);
    const [written] = await Promise.all([writing, store.close()]);
    const heads = written.slice(0, 20).map((state) => 'head' in state && state.head);
    assert.equal(new Set(heads).size, 20);
    assert.deepEqual(written.slice(20), [{ status: 'written' }, { status: 'written' }]);
  }),
  storeCase('[STORE-64] an engine reports its name and its durability', async ({ store }) => {
    assert.notEqual(store.engine.name, '');
    assert.ok(['durable', 'buffered', 'memory'].includes(store.engine.durability));
  }),
];

function everyCall(store: Store): Readonly<Record<string, () => Promise<unknown>>> {
  const write = { key: NOTE, type: 'text', replace: true, parts: new Map(), guards: [] } as const;
  return {
    epoch: () => store.epoch(),
    partition: () => store.partition(ORDERS),
    size: () => store.size(ORDERS),
    bytes: () => store.bytes(ORDERS),
    readObjects: () => store.readObjects(ORDERS, ['1']),
    readJournal: () => store.readJournal(ORDERS, WHOLE),
    commit: () => store.commit({ partition: ORDERS, changes: [put('1'), remove('2')], guards: [] }),
    trim: () => store.trim(ORDERS, 1),
    partitions: () => store.partitions({ limit: 1 }),
    readDocument: () => store.readDocument(NOTE),
    writeDocument: () => store.writeDocument(write),
    documentNames: () => store.documentNames(NOTE.scope),
    readEntry: () => store.readEntry({ kind: 'user', key: ['ann'] }),
    listEntries: () => store.listEntries({ kind: 'user', prefix: [], limit: 1 }),
    countEntries: () => store.countEntries('user'),
    writeEntries: () => store.writeEntries({ writes: [], guards: [] }),
    readTidemark: () => store.readTidemark(ORDERS, 'c1'),
    listTidemarks: () => store.listTidemarks(ORDERS, { limit: 1 }),
    noteTidemark: () => store.noteTidemark(ORDERS, tidemark('c1'), []),
    countAcknowledged: () => store.countAcknowledged(ORDERS, { epoch: 'e', below: 1 }),
    listAcknowledged: () => store.listAcknowledged(ORDERS, { epoch: 'e', below: 1, limit: 1 }),
    addStats: () => store.addStats([statRow('m', 60, 1)]),
    readStats: () => store.readStats('m', 'oldest', 1),
    statNames: () => store.statNames(),
    trimStats: () => store.trimStats(60),
    reset: () => store.reset([]),
    backup: () => store.backup('nowhere'),
    verify: () => collect(store.verify(readRecord)),
  };
}

async function collect(findings: AsyncIterable<Finding>): Promise<Finding[]> {
  const all: Finding[] = [];
  for await (const finding of findings) all.push(finding);
  return all;
}
