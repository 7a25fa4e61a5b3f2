import assert from 'node:assert/strict';
import type { Change, Store } from '@tidemark/core';
import { put, readRecord, recordOf, remove } from './change.ts';
import { observeStore } from './observe-store.ts';
import { committed, ORDERS } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const bytes = (...texts: readonly (readonly [id: string, text: string])[]) =>
  texts.reduce((sum, [id, text]) => sum + Buffer.byteLength(recordOf(id, text)), 0);
const statusOf = async (store: Store, changes: readonly Change[], bytesMax: number) =>
  (await store.commit({ partition: ORDERS, changes, guards: [], bytesMax })).status;

/** Cases about the size limit of a partition. */
export const quotaCases: readonly StoreCase[] = [
  storeCase('[STORE-75] a commit may fill the partition up to bytesMax, but not beyond', async ({ store }) => {
    const bytesMax = bytes(['1', 'é'], ['2', 'vv']);
    assert.equal(await statusOf(store, [put('1', 'é'), put('2', 'vvv')], bytesMax), 'too_large');
    assert.equal((await store.partition(ORDERS)).head, 0);
    assert.equal(await statusOf(store, [put('1', 'é'), put('2', 'vv')], bytesMax), 'committed');
    const before = await observeStore(store);
    assert.equal(await statusOf(store, [put('3', '')], bytesMax), 'too_large');
    assert.equal(await statusOf(store, [put('2', 'vvv')], bytesMax), 'too_large');
    assert.deepEqual(await observeStore(store), before);
  }),
  storeCase('[STORE-75] deletions make room, even in the same commit', async ({ store }) => {
    const bytesMax = bytes(['1', 'vvvv'], ['2', 'vvvv']);
    await committed(store, [put('1', 'vvvv'), put('2', 'vvvv')]);
    assert.equal(await statusOf(store, [put('3', 'vvvv'), remove('1')], bytesMax), 'committed');
    assert.equal(await statusOf(store, [put('4', 'vvvv')], bytesMax), 'too_large');
    assert.equal(await statusOf(store, [put('2', 'v')], bytesMax), 'committed');
    assert.equal(await statusOf(store, [remove('3')], bytesMax), 'committed');
    assert.equal(await statusOf(store, [put('4', 'vvvv')], bytesMax), 'committed');
  }),
  storeCase('[STORE-75] a partition beyond bytesMax may shrink but not grow', async ({ store }) => {
    await committed(store, [put('1', 'x'.repeat(500)), put('2', 'x'.repeat(500))]);
    assert.equal(await statusOf(store, [put('1', 'x'.repeat(400))], 100), 'committed');
    assert.equal(await statusOf(store, [put('1', 'x'.repeat(401))], 100), 'too_large');
    assert.equal(await statusOf(store, [remove('1'), remove('2')], 100), 'committed');
    assert.equal(await statusOf(store, [put('1', 'x'.repeat(40))], 100), 'committed');
  }),
  storeCase('[STORE-75] the bytes of a partition are exact after many changes', async ({ store }) => {
    const texts = new Map<string, string>();
    for (let round = 0; round < 40; round++) {
      const changes: Change[] = [];
      for (let index = 0; index < 30; index++) {
        const id = `o${(round * 7 + index * 11) % 200}`;
        if (changes.some((change) => change.id === id)) continue;
        const text = 'é'.repeat((round * index) % 23);
        const isGone = (round + index) % 5 === 0;
        changes.push(isGone ? remove(id) : put(id, text));
        if (isGone) texts.delete(id);
        else texts.set(id, text);
      }
      await committed(store, changes);
    }
    const used = bytes(...texts);
    const one = bytes(['new', 'v']);
    assert.equal(await statusOf(store, [put('new', 'v')], used + one - 1), 'too_large');
    assert.equal(await statusOf(store, [put('new', 'v')], used + one), 'committed');
    for await (const finding of store.verify(readRecord)) assert.fail(JSON.stringify(finding));
  }),
];
