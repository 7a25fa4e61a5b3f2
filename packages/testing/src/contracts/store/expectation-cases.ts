import assert from 'node:assert/strict';
import type { Change, Commit, Store } from '@tidemark/core';
import { put, remove } from './change.ts';
import { observeStore } from './observe-store.ts';
import { populateStore } from './populate-store.ts';
import { committed, ORDERS } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

/** Cases about expectations: if one is not met, the commit changes nothing. */
export const expectationCases: readonly StoreCase[] = [
  storeCase('[STORE-7] a conflict changes nothing, wherever in the commit it is', async ({ store }) => {
    await populateStore(store);
    const before = await observeStore(store);
    const fine = Array.from({ length: 50 }, (_, number) => put(`new ${number}`));
    const good = [put('kept', 'other'), remove('moved'), put('buried', 'back'), ...fine];
    await assertConflict(store, [...good, put('last', 'v', 7)]);
    await assertConflict(store, [put('first', 'v', 7), ...good]);
    await assertConflict(store, [...good.slice(0, 20), remove('middle', 1), ...good.slice(20)]);
    assert.deepEqual(await observeStore(store), before);
  }),
  storeCase('[STORE-7] a conflict does not create a partition', async ({ store }) => {
    await assertConflict(store, [put('1'), put('2', 'v', 1)]);
    assert.deepEqual(await store.partitions({ limit: 10 }), []);
    assert.equal((await store.partition(ORDERS)).epoch, await store.epoch());
  }),
  storeCase('[STORE-17] a commit conflicts unless the object has the expected seq', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    for (const wrong of [0, 2, 3]) await assertConflict(store, [put('1', 'new', wrong)]);
    assert.equal((await committed(store, [put('1', 'new', 1)])).head, 3);
    await assertConflict(store, [put('1', 'newer', 1)]);
    await assertConflict(store, [remove('1', 1)]);
    assert.equal((await committed(store, [remove('1', 3)])).head, 4);
  }),
  storeCase('[STORE-17] a commit conflicts unless the tombstone has the expected seq', async ({ store }) => {
    await committed(store, [put('1')]);
    await committed(store, [remove('1')]);
    for (const wrong of [0, 1, 3]) await assertConflict(store, [put('1', 'again', wrong)]);
    assert.equal((await committed(store, [put('1', 'again', 2)])).head, 3);
  }),
  storeCase('[STORE-17] expecting 0 means that the object is unknown', async ({ store }) => {
    assert.equal((await committed(store, [put('1', 'v', 0)])).head, 1);
    await assertConflict(store, [put('1', 'w', 0)]);
    assert.equal((await committed(store, [put('2', 'v', 0)])).head, 2);
    for (const wrong of [1, 2]) await assertConflict(store, [put('3', 'v', wrong)]);
  }),
  storeCase('[STORE-17] the expectation of a deletion counts even if there is nothing to delete', async ({ store }) => {
    await committed(store, [put('1')]);
    await committed(store, [remove('1')]);
    for (const wrong of [0, 1]) await assertConflict(store, [remove('1', wrong)]);
    await assertConflict(store, [remove('unknown', 2)]);
    assert.equal((await committed(store, [remove('1', 2), remove('unknown', 0)])).head, 2);
  }),
  storeCase('[STORE-17] expectations refer to the state before the commit', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    const state = await committed(store, [put('2', 'w', 2), put('1', 'w', 1), put('3', 'w', 0)]);
    assert.equal(state.head, 5);
    await assertConflict(store, [put('a', 'v'), put('b', 'v', 7)]);
  }),
  storeCase('[STORE-18] a commit conflicts unless the partition has the expected head', async ({ store }) => {
    for (const wrong of [1, 2]) await assertConflict(store, [put('1')], { expectHead: wrong });
    assert.equal((await committed(store, [put('1'), put('2')], { expectHead: 0 })).head, 2);
    for (const wrong of [0, 1, 3]) await assertConflict(store, [put('1')], { expectHead: wrong });
    assert.equal((await committed(store, [put('1')], { expectHead: 2 })).head, 3);
    await assertConflict(store, [put('1', 'v', 3), put('2', 'v', 2)], { expectHead: 2 });
  }),
  storeCase('[STORE-18] the expected head counts even if there is nothing to change', async ({ store }) => {
    await committed(store, [put('1')]);
    await assertConflict(store, [], { expectHead: 0 });
    await assertConflict(store, [remove('unknown')], { expectHead: 2 });
    assert.equal((await committed(store, [], { expectHead: 1 })).head, 1);
  }),
  storeCase(
    '[STORE-65] a commit conflicts if an object that it read but does not change has another seq',
    async ({ store }) => {
      await committed(store, [put('1'), put('2'), put('3')]);
      await committed(store, [remove('3')]);
      const kept = (id: string, expect: number) => ({ kept: [{ id, expect }] });
      for (const wrong of [kept('2', 1), kept('2', 0), kept('3', 3), kept('3', 0), kept('new', 1)]) {
        await assertConflict(store, [put('1', 'other', 1)], wrong);
        await assertConflict(store, [], wrong);
      }
      const all = [...kept('2', 2).kept, ...kept('3', 4).kept, ...kept('new', 0).kept];
      assert.deepEqual((await committed(store, [put('1', 'other', 1)], { kept: all })).head, 5);
      assert.deepEqual((await committed(store, [], { kept: all })).head, 5);
    },
  ),
  storeCase('[STORE-66] expectations from before a reset or recreation are a conflict', async ({ store }) => {
    const absent = await store.partition(ORDERS);
    assert.equal((await committed(store, [put('1', 'v', 0)], { seen: absent })).head, 1);
    await assertConflict(store, [put('2', 'v', 0)], { seen: absent });
    const present = await store.partition(ORDERS);
    await assertConflict(store, [put('2', 'v', 0)], { seen: { ...present, epoch: `${present.epoch}x` } });
    assert.equal((await committed(store, [put('2', 'v', 0)], { seen: present })).head, 2);
    // If the head has moved on, the engine checks the expectations one by one.
    assert.equal((await committed(store, [put('3', 'v', 0)], { seen: present })).head, 3);
    await assertConflict(store, [put('3', 'v', 0)], { seen: present });
  }),
];

async function assertConflict(store: Store, changes: readonly Change[], more: Partial<Commit> = {}): Promise<void> {
  const before = await store.partition(ORDERS);
  assert.deepEqual(await store.commit({ partition: ORDERS, changes, guards: [], ...more }), { status: 'conflict' });
  assert.deepEqual(await store.partition(ORDERS), before);
}
