import assert from 'node:assert/strict';
import { ownerText, type PartitionKey, sharedPartition } from '@tidemark/core';
import { put, recordOf, remove } from './change.ts';
import { POPULATED_PARTITIONS, populateStore } from './populate-store.ts';
import { randomHistory } from './random-history.ts';
import { assertPaging, committed, ORDERS, WHOLE, wholeJournal } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

/** Cases about partitions. */
export const partitionCases: readonly StoreCase[] = [
  storeCase(
    '[STORE-9] a partition without any write has the epoch of the store and nothing else',
    async ({ store }) => {
      const state = { epoch: await store.epoch(), head: 0, floor: 0, size: 0, checksum: 0 };
      assert.deepEqual(await store.partition(ORDERS), state);
      assert.equal(await store.size(ORDERS), 0);
      assert.deepEqual(await store.readObjects(ORDERS, ['1', '2']), { state, objects: new Map() });
      assert.deepEqual(await store.readJournal(ORDERS, WHOLE), {
        state,
        records: [],
        seqs: [],
        tombstones: [],
        upTo: 0,
      });
      assert.deepEqual(await store.listTidemarks(ORDERS, { limit: 10 }), []);
      assert.equal(await store.readTidemark(ORDERS, 'c1'), null);
    },
  ),
  storeCase('[STORE-9] reading a partition does not create it', async ({ store }) => {
    await store.partition(ORDERS);
    await store.readObjects(ORDERS, ['1']);
    await store.readJournal(ORDERS, WHOLE);
    await store.listTidemarks(ORDERS, { limit: 10 });
    assert.deepEqual(await store.partitions({ limit: 10 }), []);
    assert.equal((await store.partition(ORDERS)).epoch, await store.epoch());
  }),
  storeCase(
    '[STORE-10] the first write gives a partition an epoch of its own, and later ones keep it',
    async ({ store }) => {
      const { epoch } = await committed(store, [put('1')]);
      assert.notEqual(epoch, await store.epoch());
      const later = [
        await committed(store, [put('1', 'again'), put('2')]),
        await committed(store, [remove('1'), remove('2')]),
        await store.trim(ORDERS, 4),
        await store.partition(ORDERS),
        (await store.readObjects(ORDERS, [])).state,
        (await store.readJournal(ORDERS, WHOLE)).state,
      ];
      assert.deepEqual(new Set(later.map((state) => state.epoch)), new Set([epoch]));
    },
  ),
  storeCase('[STORE-10] writes do not change the epoch of the store', async ({ store }) => {
    const epoch = await store.epoch();
    assert.notEqual(epoch, '');
    await populateStore(store);
    assert.equal(await store.epoch(), epoch);
  }),
  storeCase(
    '[STORE-15] size, checksum and head are exact after every one of many random commits',
    async ({ store }) => {
      const check = async (model: { state(): object }) => {
        const { epoch, ...state } = await store.partition(ORDERS);
        assert.notEqual(epoch, '');
        assert.deepEqual(state, model.state());
      };
      await randomHistory(store, { seed: 15, commits: 150, ids: 12, check });
    },
  ),
  storeCase('[STORE-15] all calls that return a state return the same one', async ({ store }) => {
    const model = await randomHistory(store, { seed: 16, commits: 20, ids: 5 });
    const state = await store.partition(ORDERS);
    assert.deepEqual(state, { epoch: state.epoch, ...model.state() });
    assert.equal(await store.size(ORDERS), state.size);
    assert.deepEqual((await store.readObjects(ORDERS, ['id 1'])).state, state);
    assert.deepEqual((await wholeJournal(store, ORDERS)).state, state);
    assert.deepEqual(await committed(store, []), state);
    assert.deepEqual(await store.trim(ORDERS, 0), state);
  }),
  storeCase('[STORE-15] every partition has its own state', async ({ store }) => {
    const other = sharedPartition('Order');
    const model = await randomHistory(store, { seed: 17, commits: 10, ids: 5 });
    const otherModel = await randomHistory(store, { seed: 18, commits: 10, ids: 5, partition: other });
    const { epoch, ...state } = await store.partition(ORDERS);
    const { epoch: otherEpoch, ...otherState } = await store.partition(other);
    assert.deepEqual([state, otherState], [model.state(), otherModel.state()]);
    assert.ok(epoch !== '' && otherEpoch !== '');
  }),
  storeCase('[STORE-20] reading objects returns live and deleted ones, and omits unknown ids', async ({ store }) => {
    await committed(store, [put('live', 'old'), put('dead'), put('other')]);
    const state = await committed(store, [put('live', 'new'), remove('dead')]);
    assert.deepEqual(await store.readObjects(ORDERS, ['unknown', 'dead', 'live', 'live']), {
      state,
      objects: new Map([
        ['live', { seq: 4, record: recordOf('live', 'new') }],
        ['dead', { seq: 5, record: null }],
      ]),
    });
    assert.deepEqual(await store.readObjects(ORDERS, []), { state, objects: new Map() });
  }),
  storeCase('[STORE-21] every partition that was written to is listed once', async ({ store }) => {
    await populateStore(store);
    const listed = await store.partitions({ limit: 1_000 });
    assert.equal(listed.length, POPULATED_PARTITIONS.length);
    assert.deepEqual(new Set(listed.map(asText)), new Set(POPULATED_PARTITIONS.map(asText)));
  }),
  storeCase('[STORE-21] pages of partitions of any size give the same order', async ({ store }) => {
    await populateStore(store);
    const all = await store.partitions({ limit: 1_000 });
    await assertPaging(all, (after, limit) => store.partitions(after === undefined ? { limit } : { after, limit }));
  }),
  storeCase('[STORE-21] a listing of partitions continues after one that is deleted by now', async ({ store }) => {
    await populateStore(store);
    const all = await store.partitions({ limit: 1_000 });
    const after = all.find(({ owner }) => ownerText(owner) === 'bob') ?? assert.fail();
    await store.writeEntries({ writes: [], guards: [], erase: { users: ['bob'] } });
    const rest = all.slice(all.indexOf(after)).filter(({ owner }) => ownerText(owner) !== 'bob');
    assert.deepEqual(await store.partitions({ after, limit: 1_000 }), rest);
  }),
];

function asText({ source, owner }: PartitionKey): string {
  return JSON.stringify([source, ownerText(owner)]);
}
