import assert from 'node:assert/strict';
import { addChecksums } from '@tidemark/protocol';
import { put, recordOf, remove } from './change.ts';
import { observeStore } from './observe-store.ts';
import { committed, ORDERS, wholeJournal } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

/** Cases about commits. */
export const commitCases: readonly StoreCase[] = [
  storeCase('[STORE-11] every change takes the next seq, in the given order', async ({ store }) => {
    const state = await committed(store, [put('z'), put('a'), put('m')]);
    const checksum = ['z', 'a', 'm'].map((id) => put(id).checksum).reduce(addChecksums);
    assert.deepEqual(state, { epoch: state.epoch, head: 3, floor: 0, size: 3, checksum });
    assert.deepEqual(await wholeJournal(store, ORDERS), {
      state,
      records: [recordOf('z', 'v'), recordOf('a', 'v'), recordOf('m', 'v')],
      seqs: [1, 2, 3],
      tombstones: [],
      upTo: 3,
    });
  }),
  storeCase('[STORE-11] seqs continue after the last commit, also for equal records', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    assert.equal((await committed(store, [put('3')])).head, 3);
    assert.equal((await committed(store, [put('3'), put('1')])).head, 5);
    assert.deepEqual((await wholeJournal(store, ORDERS)).seqs, [2, 4, 5]);
  }),
  storeCase('[STORE-11] a commit of 10,000 changes is one step like any other', async ({ store }) => {
    const ids = Array.from({ length: 10_000 }, (_, number) => `object ${number}`);
    const state = await committed(
      store,
      ids.map((id) => put(id)),
    );
    assert.equal(state.checksum, ids.map((id) => put(id).checksum).reduce(addChecksums));
    const { records, seqs } = await wholeJournal(store, ORDERS);
    assert.deepEqual(
      records,
      ids.map((id) => recordOf(id, 'v')),
    );
    assert.deepEqual(
      seqs,
      ids.map((_, index) => index + 1),
    );
  }),
  storeCase('[STORE-12] an object is in the journal once, at its latest change', async ({ store }) => {
    await committed(store, [put('1', 'a'), put('2', 'a'), put('3', 'a')]);
    await committed(store, [put('2', 'b'), put('1', 'b')]);
    const state = await committed(store, [put('2', 'c')]);
    assert.deepEqual(await wholeJournal(store, ORDERS), {
      state,
      records: [recordOf('3', 'a'), recordOf('1', 'b'), recordOf('2', 'c')],
      seqs: [3, 5, 6],
      tombstones: [],
      upTo: 6,
    });
    assert.equal(state.size, 3);
  }),
  storeCase('[STORE-13] a deletion takes a seq and leaves a tombstone', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    const state = await committed(store, [remove('1')]);
    const { epoch } = state;
    assert.deepEqual(state, { epoch, head: 3, floor: 0, size: 1, checksum: put('2').checksum });
    assert.deepEqual(await wholeJournal(store, ORDERS), {
      state,
      records: [recordOf('2', 'v')],
      seqs: [2],
      tombstones: ['1'],
      upTo: 3,
    });
  }),
  storeCase('[STORE-13] an object that is created again replaces its tombstone', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    await committed(store, [remove('1'), remove('2')]);
    const state = await committed(store, [put('1', 'again')]);
    assert.equal(state.size, 1);
    assert.equal(state.checksum, put('1', 'again').checksum);
    assert.deepEqual(await wholeJournal(store, ORDERS), {
      state,
      records: [recordOf('1', 'again')],
      seqs: [5],
      tombstones: ['2'],
      upTo: 5,
    });
  }),
  storeCase('[STORE-13] deleting the last object sets size and checksum to zero', async ({ store }) => {
    await committed(store, [put('1'), put('2', 'b')]);
    const { size, checksum } = await committed(store, [remove('2'), remove('1')]);
    assert.deepEqual({ size, checksum }, { size: 0, checksum: 0 });
  }),
  storeCase('[STORE-14] deleting a missing object does nothing and takes no seq', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    await committed(store, [remove('1')]);
    const before = await observeStore(store);
    await committed(store, [remove('1'), remove('unknown')]);
    assert.deepEqual(await observeStore(store), before);
    await committed(store, [remove('unknown'), put('3'), remove('1'), put('4'), remove('2')]);
    const { seqs, tombstones } = await wholeJournal(store, ORDERS);
    assert.deepEqual({ seqs, tombstones }, { seqs: [4, 5], tombstones: ['1', '2'] });
  }),
  storeCase('[STORE-14] deletions alone do not create a partition', async ({ store }) => {
    const state = await committed(store, [remove('1'), remove('2')]);
    assert.deepEqual(state, { epoch: await store.epoch(), head: 0, floor: 0, size: 0, checksum: 0 });
    assert.deepEqual(await store.partition(ORDERS), state);
    assert.deepEqual(await store.partitions({ limit: 10 }), []);
  }),
  storeCase('[STORE-16] a commit without changes changes nothing', async ({ store }) => {
    const nothing = await committed(store, []);
    assert.deepEqual(nothing, { epoch: await store.epoch(), head: 0, floor: 0, size: 0, checksum: 0 });
    assert.deepEqual(await store.partitions({ limit: 10 }), []);
    await committed(store, [put('1')]);
    const before = await observeStore(store);
    assert.deepEqual(await committed(store, []), before.partitions[0]?.journal.state);
    assert.deepEqual(await observeStore(store), before);
  }),
];
