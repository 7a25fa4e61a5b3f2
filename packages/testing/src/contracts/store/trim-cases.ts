import assert from 'node:assert/strict';
import type { PartitionState, Store } from '@tidemark/core';
import { userPartition } from '@tidemark/core';
import { put, recordOf, remove } from './change.ts';
import { observeStore } from './observe-store.ts';
import { randomHistory } from './random-history.ts';
import { assertSlice, committed, ORDERS, trimFully, WHOLE, wholeJournal } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

/** Cases about trimming tombstones. */
export const trimCases: readonly StoreCase[] = [
  storeCase('[STORE-28] trimming removes the tombstones up to the given seq, and nothing else', async ({ store }) => {
    const before = await buriedInTurn(store);
    const state = await trimFully(store, ORDERS, 8);
    assert.deepEqual(state, { ...before, floor: 8 });
    assert.deepEqual(await store.partition(ORDERS), state);
    assert.deepEqual(await wholeJournal(store, ORDERS), {
      state,
      records: [recordOf('d', 'v'), recordOf('b', 'w'), recordOf('e', 'w')],
      seqs: [4, 7, 9],
      tombstones: ['f'],
      upTo: 10,
    });
  }),
  storeCase('[STORE-28] the floor rises even if there was no tombstone to trim', async ({ store }) => {
    const before = await committed(store, [put('1'), put('2'), put('3')]);
    assert.deepEqual(await trimFully(store, ORDERS, 2), { ...before, floor: 2 });
    assert.deepEqual((await wholeJournal(store, ORDERS)).seqs, [1, 2, 3]);
    assert.deepEqual(await trimFully(store, ORDERS, 3), { ...before, floor: 3 });
  }),
  storeCase('[STORE-28] later writes do not change the floor', async ({ store }) => {
    await buriedInTurn(store);
    await trimFully(store, ORDERS, 8);
    assert.equal((await committed(store, [put('x'), remove('d')])).floor, 8);
    assert.deepEqual((await wholeJournal(store, ORDERS)).tombstones, ['f', 'd']);
  }),
  storeCase('[STORE-28] trimming one partition does not change others', async ({ store }) => {
    await buriedInTurn(store);
    const other = userPartition('Order', 'bob');
    await committed(store, [put('1')], { partition: other });
    await committed(store, [remove('1')], { partition: other });
    const before = await wholeJournal(store, other);
    await trimFully(store, ORDERS, 10);
    assert.deepEqual(await wholeJournal(store, other), before);
  }),
  storeCase('[STORE-28] random trims keep what the model keeps', async ({ store }) => {
    let round = 0;
    await randomHistory(store, {
      seed: 28,
      commits: 60,
      ids: 20,
      check: async (model) => {
        round += 1;
        if (round % 10 !== 0) return;
        const upTo = Math.floor((model.head * (round % 4)) / 3);
        await trimFully(store, ORDERS, upTo);
        model.trim(upTo);
        await assertSlice(store, model, WHOLE);
      },
    });
  }),
  storeCase(
    '[STORE-29] one trim removes a bounded number of tombstones, and the floor tells how far it came',
    async ({ store, capabilities }) => {
      const count = capabilities.tombstonesPerTrimMax * 2 + 1;
      const ids = Array.from({ length: count }, (_, number) => `${number}`);
      await committed(
        store,
        ids.map((id) => put(id)),
      );
      const { head } = await committed(
        store,
        ids.map((id) => remove(id)),
      );
      let left = ids;
      for (let calls = 0; left.length > 0; calls++) {
        assert.ok(calls < count, 'trimming came to no end');
        const { floor } = await store.trim(ORDERS, head);
        const { tombstones } = await wholeJournal(store, ORDERS);
        assert.ok(left.length - tombstones.length <= capabilities.tombstonesPerTrimMax, 'one call forgot too many');
        assert.ok(floor >= count + ids.length - tombstones.length, 'the floor is below what has been forgotten');
        assert.ok(floor <= head - tombstones.length, 'the floor is above a tombstone that is still there');
        assert.ok(tombstones.length < left.length, 'a call forgot nothing');
        assert.deepEqual(tombstones, ids.slice(ids.length - tombstones.length));
        left = [...tombstones];
      }
      assert.deepEqual(await trimFully(store, ORDERS, head), await store.partition(ORDERS));
      assert.equal((await store.partition(ORDERS)).floor, head);
    },
  ),
  storeCase('[STORE-30] trimming beyond the head trims up to the head', async ({ store }) => {
    const before = await buriedInTurn(store);
    const state = await trimFully(store, ORDERS, Number.MAX_SAFE_INTEGER);
    assert.deepEqual(state, { ...before, floor: before.head });
    assert.deepEqual((await wholeJournal(store, ORDERS)).tombstones, []);
    const next = await committed(store, [remove('d')]);
    assert.deepEqual([next.head, next.floor], [before.head + 1, before.head]);
    assert.deepEqual((await wholeJournal(store, ORDERS)).tombstones, ['d']);
  }),
  storeCase('[STORE-30] trimming below the floor, or again, changes nothing', async ({ store }) => {
    await buriedInTurn(store);
    await trimFully(store, ORDERS, 6);
    const before = await observeStore(store);
    for (const upTo of [0, 3, 6]) {
      assert.deepEqual(await store.trim(ORDERS, upTo), before.partitions[0]?.journal.state);
    }
    assert.deepEqual(await observeStore(store), before);
  }),
  storeCase('[STORE-30] trimming a partition without any write does not create it', async ({ store }) => {
    const nothing = { epoch: await store.epoch(), head: 0, floor: 0, size: 0, checksum: 0 };
    assert.deepEqual(await store.trim(ORDERS, 5), nothing);
    assert.deepEqual(await store.partition(ORDERS), nothing);
    assert.deepEqual(await store.partitions({ limit: 10 }), []);
  }),
  storeCase('[STORE-31] an object whose tombstone was trimmed is unknown', async ({ store }) => {
    await buriedInTurn(store);
    await trimFully(store, ORDERS, 8);
    const { objects } = await store.readObjects(ORDERS, ['a', 'c', 'f']);
    assert.deepEqual(objects, new Map([['f', { seq: 10, record: null }]]));
    const stale = { partition: ORDERS, changes: [put('a', 'v', 6)], guards: [] };
    assert.deepEqual(await store.commit(stale), { status: 'conflict' });
    assert.equal((await committed(store, [put('a', 'v', 0)])).head, 11);
    assert.equal((await committed(store, [remove('c')])).head, 11);
  }),
];

/** The journal then holds: d 4, tombstone a 6, b 7, tombstone c 8, e 9, tombstone f 10. */
async function buriedInTurn(store: Store): Promise<PartitionState> {
  await committed(
    store,
    ['a', 'b', 'c', 'd', 'f'].map((id) => put(id)),
  );
  return committed(store, [remove('a'), put('b', 'w'), remove('c'), put('e', 'w'), remove('f')]);
}
