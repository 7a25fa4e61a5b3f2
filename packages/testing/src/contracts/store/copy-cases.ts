import assert from 'node:assert/strict';
import type { Store } from '@tidemark/core';
import { put, readRecord, recordOf, remove } from './change.ts';
import { observeStore, withoutEpochs } from './observe-store.ts';
import { populateStore } from './populate-store.ts';
import { committed, ORDERS, trimFully, wholeJournal } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const GROUP = Array.from({ length: 10 }, (_, number) => `member ${number}`);

/** Cases about reopening and backups, for engines that can do it. */
export const copyCases: readonly StoreCase[] = [
  storeCase(
    '[STORE-63] a reopened store has everything that was acknowledged, with the same epochs',
    async ({ store, reopen }) => {
      await populateStore(store);
      await trimFully(store, ORDERS, 5);
      await committed(store, [put('last'), remove('kept')]);
      const before = await observeStore(store);
      const again = await reopen();
      assert.deepEqual(await observeStore(again), before);
      assert.deepEqual(again.engine, store.engine);
      await assertHealth(again);
    },
    'reopen',
  ),
  storeCase(
    '[STORE-63] a reopened store continues where it was',
    async ({ store, reopen }) => {
      await populateStore(store);
      const ann = { kind: 'user', key: ['ann'] } as const;
      const old = (await store.readEntry(ann)) ?? assert.fail();
      await store.writeEntries({ writes: [{ ...ann, value: null }], guards: [] });
      const again = await reopen();
      assert.equal((await committed(again, [put('next', 'v', 0)], { expectHead: 5 })).head, 6);
      await again.writeEntries({ writes: [{ ...ann, value: 'again', expect: 0 }], guards: [] });
      assert.notEqual((await again.readEntry(ann))?.version, old.version);
    },
    'reopen',
  ),
  storeCase(
    '[STORE-63] writes that were running at close are there after reopening',
    async ({ store, reopen }) => {
      const commits = Array.from({ length: 20 }, (_, number) => committed(store, [put(`${number}`)]));
      const [again] = await Promise.all([reopen(), ...commits]);
      assert.deepEqual((await again.partition(ORDERS)).size, 20);
      assert.equal((await wholeJournal(again, ORDERS)).records.length, 20);
    },
    'reopen',
  ),
  storeCase(
    '[STORE-63] the epochs of a reset survive reopening the store',
    async ({ store, reopen }) => {
      await populateStore(store);
      const epoch = await store.reset([{ kind: 'user', key: ['ann'] }]);
      const before = await observeStore(store);
      const again = await reopen();
      assert.deepEqual([await again.epoch(), await observeStore(again)], [epoch, before]);
    },
    'reopen',
  ),
  storeCase(
    '[STORE-59] a backup has the same data and other epochs',
    async ({ store, openBackup }) => {
      await populateStore(store);
      await trimFully(store, ORDERS, 5);
      const before = await observeStore(store);
      const copy = await openBackup();
      const copied = await observeStore(copy);
      assert.deepEqual(withoutEpochs(copied), withoutEpochs(before));
      assert.notEqual(copied.epoch, before.epoch);
      for (const [index, { journal }] of copied.partitions.entries()) {
        assert.notEqual(journal.state.epoch, before.partitions[index]?.journal.state.epoch);
      }
      await assertHealth(copy);
    },
    'openBackup',
  ),
  storeCase(
    '[STORE-59] a backup does not change the store, and both are independent afterwards',
    async ({ store, openBackup }) => {
      await populateStore(store);
      const before = await observeStore(store);
      const copy = await openBackup();
      assert.deepEqual(await observeStore(store), before);
      await committed(copy, [put('only in the copy')]);
      await copy.reset([]);
      assert.deepEqual(await observeStore(store), before);
      await committed(store, [put('only in the original')]);
      assert.equal((await copy.partition(ORDERS)).head, 0);
    },
    'openBackup',
  ),
  storeCase(
    '[STORE-59] a backup during writes is one consistent state',
    async ({ store, openBackup }) => {
      const round = (number: number) =>
        committed(
          store,
          GROUP.map((id) => put(id, `${number}`)),
        );
      await round(0);
      const work = Array.from({ length: 30 }, (_, number) => round(number + 1));
      const [copy] = await Promise.all([openBackup(), ...work]);
      const { records, state } = await wholeJournal(copy, ORDERS);
      const number = state.head / GROUP.length - 1;
      assert.deepEqual(
        records,
        GROUP.map((id) => recordOf(id, `${number}`)),
      );
      await assertHealth(copy);
      assert.equal((await store.partition(ORDERS)).head, 310);
    },
    'openBackup',
  ),
];

async function assertHealth(store: Store): Promise<void> {
  for await (const finding of store.verify(readRecord)) assert.fail(JSON.stringify(finding));
}
