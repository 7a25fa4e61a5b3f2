import assert from 'node:assert/strict';
import type { Change, Store } from '@tidemark/core';
import { bury, put, readRecord, recordOf } from './change.ts';
import { committed, ORDERS } from './committed.ts';
import { observeStore } from './observe-store.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const bytes = (...texts: readonly (readonly [id: string, text: string])[]) =>
  texts.reduce((sum, [id, text]) => sum + Buffer.byteLength(recordOf(id, text)), 0);
const statusOf = async (store: Store, changes: readonly Change[], bytesMax: number) =>
  (await store.commit({ partition: ORDERS, changes, guards: [], bytesMax })).status;

/** What a commit may make of the size of a partition. */
export const quotaCases: readonly StoreCase[] = [
  storeCase('[STORE-75] a commit fills the partition up to bytesMax, and no byte further', async ({ store }) => {
    const bytesMax = bytes(['1', 'é'], ['2', 'vv']);
    assert.equal(await statusOf(store, [put('1', 'é'), put('2', 'vvv')], bytesMax), 'too_large');
    assert.equal((await store.partition(ORDERS)).head, 0);
    assert.equal(await statusOf(store, [put('1', 'é'), put('2', 'vv')], bytesMax), 'committed');
    const before = await observeStore(store);
    assert.equal(await statusOf(store, [put('3', '')], bytesMax), 'too_large');
    assert.equal(await statusOf(store, [put('2', 'vvv')], bytesMax), 'too_large');
    assert.deepEqual(await observeStore(store), before);
  }),
  storeCase('[STORE-75] what goes makes room, also in the same commit', async ({ store }) => {
    const bytesMax = bytes(['1', 'vvvv'], ['2', 'vvvv']);
    await committed(store, [put('1', 'vvvv'), put('2', 'vvvv')]);
    assert.equal(await statusOf(store, [put('3', 'vvvv'), bury('1')], bytesMax), 'committed');
    assert.equal(await statusOf(store, [put('4', 'vvvv')], bytesMax), 'too_large');
    assert.equal(await statusOf(store, [put('2', 'v')], bytesMax), 'committed');
    assert.equal(await statusOf(store, [bury('3')], bytesMax), 'committed');
    assert.equal(await statusOf(store, [put('4', 'vvvv')], bytesMax), 'committed');
  }),
  storeCase('[STORE-75] a partition that is too large may become smaller, not larger', async ({ store }) => {
    await committed(store, [put('1', 'x'.repeat(500)), put('2', 'x'.repeat(500))]);
    assert.equal(await statusOf(store, [put('1', 'x'.repeat(400))], 100), 'committed');
    assert.equal(await statusOf(store, [put('1', 'x'.repeat(401))], 100), 'too_large');
    assert.equal(await statusOf(store, [bury('1'), bury('2')], 100), 'committed');
    assert.equal(await statusOf(store, [put('1', 'x'.repeat(40))], 100), 'committed');
  }),
  storeCase('[STORE-75] bytes are counted right through many changes', async ({ store }) => {
    const texts = new Map<string, string>();
    for (let round = 0; round < 40; round++) {
      const changes: Change[] = [];
      for (let index = 0; index < 30; index++) {
        const id = `o${(round * 7 + index * 11) % 200}`;
        if (changes.some((change) => change.id === id)) continue;
        const text = 'é'.repeat((round * index) % 23);
        const isGone = (round + index) % 5 === 0;
        changes.push(isGone ? bury(id) : put(id, text));
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
