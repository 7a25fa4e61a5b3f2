import assert from 'node:assert/strict';
import type { DocumentScope, Erasure, PartitionKey, Store } from '@tidemark/core';
import { sharedPartition } from '@tidemark/core';
import { put } from './change.ts';
import { type Observation, observeStore } from './observe-store.ts';
import { POPULATED_PARTITIONS, populateStore, tidemark } from './populate-store.ts';
import { committed, ORDERS, wholeJournal } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

/** Cases about deleting users, clients and sources with their data. */
export const erasureCases: readonly StoreCase[] = [
  storeCase('[STORE-44] erasing a user erases its partitions, journals, tidemarks and documents', async ({ store }) => {
    await populateStore(store);
    await assertErasure(store, { users: ['ann'] });
    await assertErasure(store, { users: ['Order', 'c1', 'nobody'] });
  }),
  storeCase('[STORE-45] erasing a client erases its tidemarks and documents', async ({ store }) => {
    await populateStore(store);
    await assertErasure(store, { clients: ['c1'] });
    await assertErasure(store, { clients: ['ann', 'Part', 'nobody'] });
  }),
  storeCase('[STORE-46] erasing a source erases its partitions, tidemarks and documents', async ({ store }) => {
    await populateStore(store);
    await assertErasure(store, { sources: ['Order'] });
    await assertErasure(store, { sources: ['ann', 'nobody'] });
  }),
  storeCase('[STORE-46] users, clients, sources and entries can be erased in one call', async ({ store }) => {
    await populateStore(store);
    await assertErasure(store, { users: ['bob'], clients: ['c2'], sources: ['Part'] });
    const writes = [{ kind: 'user', key: ['ann'], value: null } as const];
    await store.writeEntries({ writes, guards: [], erase: { users: ['ann'] } });
    assert.equal(await store.readEntry({ kind: 'user', key: ['ann'] }), null);
    assert.equal((await store.partition(ORDERS)).head, 0);
  }),
  storeCase('[STORE-47] a client that was erased and comes back finds the partition as it was', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    const before = await store.partition(ORDERS);
    await store.writeEntries({ writes: [], guards: [], erase: { clients: ['c1'] } });
    const mark = { client: 'c1', epoch: before.epoch, seq: 2, base: 2, start: null, seenAtMs: 1 };
    await store.noteTidemark(ORDERS, mark, []);
    assert.deepEqual(await store.readTidemark(ORDERS, 'c1'), mark);
    await store.writeEntries({ writes: [], guards: [], erase: { clients: ['c1'] } });
    const notes = { client: 'c1', nowMs: 1, writes: [{ kind: 'outcome', key: 'o', text: 'x' }] } as const;
    await store.commit({ partition: ORDERS, changes: [put('3')], notes, guards: [] });
    const after = await store.partition(ORDERS);
    assert.deepEqual([after.epoch, after.head, after.size], [before.epoch, 3, 3]);
  }),
  storeCase('[STORE-47] erasing a user or a client does not erase shared data', async ({ store }) => {
    await populateStore(store);
    const shared: PartitionKey = sharedPartition('Order');
    const scopes: readonly DocumentScope[] = [{ kind: 'server' }, { kind: 'shared', source: 'Order' }];
    const before = [await wholeJournal(store, shared), (await observeStore(store, scopes)).documents];
    const everybody = ['ann', 'bob', 'Order', 'c1', 'c2', 'Part', 'null', ''];
    await store.writeEntries({ writes: [], guards: [], erase: { users: everybody, clients: everybody } });
    assert.deepEqual([await wholeJournal(store, shared), (await observeStore(store, scopes)).documents], before);
    const left = await store.partitions({ limit: 100 });
    assert.deepEqual(new Set(left.map(({ owner }) => owner.kind)), new Set(['shared', 'group']));
  }),
  storeCase('[STORE-47] erasing does not change entries and statistics', async ({ store }) => {
    await populateStore(store);
    const { entries, stats } = await observeStore(store);
    const erase = { users: ['ann'], clients: ['c1'], sources: ['Order'] };
    await store.writeEntries({ writes: [], guards: [], erase });
    const after = await observeStore(store);
    assert.deepEqual([after.entries, after.stats, after.epoch], [entries, stats, await store.epoch()]);
  }),
  storeCase('[STORE-48] erased data reads as if it had never existed', async ({ store }) => {
    await populateStore(store);
    await store.writeEntries({ writes: [], guards: [], erase: { users: ['ann'] } });
    const state = { epoch: await store.epoch(), head: 0, floor: 0, size: 0, checksum: 0 };
    assert.deepEqual(await store.partition(ORDERS), state);
    assert.deepEqual(await store.readObjects(ORDERS, ['kept', 'buried']), { state, objects: new Map() });
    assert.deepEqual(await wholeJournal(store, ORDERS), { state, records: [], seqs: [], tombstones: [], upTo: 0 });
    assert.equal(await store.readTidemark(ORDERS, 'c1'), null);
    assert.deepEqual(await store.listTidemarks(ORDERS, { limit: 10 }), []);
    const scope = { kind: 'user', source: 'Order', user: 'ann' } as const;
    assert.deepEqual(await store.documentNames(scope), []);
    assert.equal(await store.readDocument({ scope, name: 'note' }), null);
    const result = await store.writeDocument({
      ...{ key: { scope, name: 'things' }, type: 'text', replace: false },
      ...{ parts: new Map([['9', 'new']]), expect: 0, guards: [] },
    });
    assert.deepEqual(result, { status: 'written' });
    const parts = new Map([['9', 'new']]);
    const document = (await store.readDocument({ scope, name: 'things' })) ?? assert.fail();
    assert.deepEqual(document, { type: 'text', version: document.version, partCount: 1, units: 3, parts });
  }),
  storeCase('[STORE-48] a partition that is created again has another epoch and begins at 1', async ({ store }) => {
    const epochs = [await store.epoch()];
    for (const erase of [{ users: ['ann'] }, { sources: ['Order'] }, { users: ['ann'] }]) {
      const { epoch, ...state } = await committed(store, [put('1', 'v', 0)]);
      assert.deepEqual(state, { head: 1, floor: 0, size: 1, checksum: put('1').checksum });
      epochs.push(epoch);
      await store.noteTidemark(ORDERS, tidemark('c1'), []);
      await store.writeEntries({ writes: [], guards: [], erase });
      await committed(store, [put('2')]);
      assert.equal(await store.readTidemark(ORDERS, 'c1'), null);
      await store.writeEntries({ writes: [], guards: [], erase });
    }
    assert.equal(new Set(epochs).size, 4);
  }),
];

/** Checks that exactly what the port promises is left. */
async function assertErasure(store: Store, erase: Erasure): Promise<void> {
  const before = await observeStore(store);
  assert.deepEqual(await store.writeEntries({ writes: [], guards: [], erase }), { status: 'written' });
  assert.deepEqual(await observeStore(store), leftAfter(before, erase));
  const gone = POPULATED_PARTITIONS.filter((key) => partitionGoes(key, erase));
  for (const key of gone) assert.equal((await store.partition(key)).head, 0);
}

function leftAfter(before: Observation, erase: Erasure): Observation {
  const { clients = [] } = erase;
  return {
    ...before,
    partitions: before.partitions
      .filter(({ key }) => !partitionGoes(key, erase))
      .map((partition) => ({
        ...partition,
        tidemarks: partition.tidemarks.filter(({ client }) => !clients.includes(client)),
      })),
    documents: before.documents.filter(({ key }) => !scopeGoes(key.scope, erase)),
  };
}

function partitionGoes({ source, owner }: PartitionKey, { users = [], sources = [] }: Erasure): boolean {
  return sources.includes(source) || (owner.kind === 'user' && users.includes(owner.login));
}

function scopeGoes(scope: DocumentScope, { users = [], clients = [], sources = [] }: Erasure): boolean {
  return (
    ('source' in scope && sources.includes(scope.source)) ||
    ('user' in scope && users.includes(scope.user)) ||
    ('client' in scope && clients.includes(scope.client))
  );
}
