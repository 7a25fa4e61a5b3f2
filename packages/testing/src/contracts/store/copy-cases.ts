import assert from 'node:assert/strict';
import type { Store } from '@tidemark/core';
import { bury, put, readRecord, recordOf } from './change.ts';
import { committed, ORDERS } from './committed.ts';
import { observeStore, withoutEpochs } from './observe-store.ts';
import { populateStore } from './populate-store.ts';
import { type StoreCase, storeCase } from './store-case.ts';
import { trimFully } from './trim-fully.ts';
import { wholeJournal } from './whole-journal.ts';

const GROUP = Array.from({ length: 10 }, (_, number) => `member ${number}`);

/** Stores opened again, and copies opened elsewhere. Only for engines that can. */
export const copyCases: readonly StoreCase[] = [
  storeCase(
    '[STORE-63] a store opened again shows everything acknowledged, in the same life',
    async ({ store, reopen }) => {
      await populateStore(store);
      await trimFully(store, ORDERS, 5);
      await committed(store, [put('last'), bury('kept')]);
      const before = await observeStore(store);
      const again = await reopen();
      assert.deepEqual(await observeStore(again), before);
      assert.deepEqual(again.engine, store.engine);
      await insistOnHealth(again);
    },
    'reopen',
  ),
  storeCase(
    '[STORE-63] a store opened again goes on where it was',
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
    '[STORE-63] writes under way when the store was closed are there when it is opened again',
    async ({ store, reopen }) => {
      const commits = Array.from({ length: 20 }, (_, number) => committed(store, [put(`${number}`)]));
      const [again] = await Promise.all([reopen(), ...commits]);
      assert.deepEqual((await again.partition(ORDERS)).size, 20);
      assert.equal((await wholeJournal(again, ORDERS)).records.length, 20);
    },
    'reopen',
  ),
  storeCase(
    '[STORE-63] a life begun by a reset goes on when the store is opened again',
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
    '[STORE-59] a backup holds the same data and begins another life',
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
      await insistOnHealth(copy);
    },
    'openBackup',
  ),
  storeCase(
    '[STORE-59] a backup leaves the store as it was, and the two go their own ways',
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
    '[STORE-59] a backup made while work goes on is one consistent state',
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
      await insistOnHealth(copy);
      assert.equal((await store.partition(ORDERS)).head, 310);
    },
    'openBackup',
  ),
];

async function insistOnHealth(store: Store): Promise<void> {
  for await (const finding of store.verify(readRecord)) assert.fail(JSON.stringify(finding));
}
