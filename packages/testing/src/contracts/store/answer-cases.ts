import assert from 'node:assert/strict';
import type { Store } from '@tidemark/core';
import { put, remove } from './change.ts';
import { observeStore } from './observe-store.ts';
import { populateStore, statRow, tidemark } from './populate-store.ts';
import { committed, ORDERS, trimFully, WHOLE } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const NOTE = { scope: { kind: 'server' }, name: 'note' } as const;

/** Cases about ownership of values and about invalid arguments. */
export const answerCases: readonly StoreCase[] = [
  storeCase('[STORE-5] a returned value does not change when the store changes', async ({ store }) => {
    await populateStore(store);
    const answer = await observeStore(store);
    const copy = structuredClone(answer);
    await changeEverything(store);
    assert.deepEqual(answer, copy);
    assert.notDeepEqual(await observeStore(store), copy);
  }),
  storeCase('[STORE-5] a stored value does not change when the caller changes its own', async ({ store }) => {
    const parts = new Map([['0', 'written']]);
    await store.writeDocument({ key: NOTE, type: 'text', replace: true, parts, guards: [] });
    parts.set('0', 'changed').set('1', 'more');
    assert.deepEqual((await store.readDocument(NOTE))?.parts, new Map([['0', 'written']]));
    const key = ['ann'];
    await store.writeEntries({ writes: [{ kind: 'user', key, value: 'v' }], guards: [] });
    key[0] = 'bob';
    const [entry] = await store.listEntries({ kind: 'user', prefix: [], limit: 10 });
    assert.deepEqual(entry?.key, ['ann']);
  }),
  storeCase('[STORE-6] a commit with the same id twice throws', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    await assertThrow(store, () => committed(store, [put('3'), put('1', 'a'), put('1', 'b')]));
    await assertThrow(store, () => committed(store, [put('4'), put('1', 'a'), remove('1')]));
    await assertThrow(store, () => committed(store, [put('5', 'a'), put('5', 'b')]));
  }),
  storeCase('[STORE-6] a deletion with a checksum throws', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    await assertThrow(store, () => committed(store, [put('3'), { id: '1', record: null, checksum: 7 }]));
  }),
  storeCase('[STORE-6] a batch with the same entry twice throws', async ({ store }) => {
    const ann = { kind: 'user', key: ['ann'] } as const;
    const writes = [
      { ...ann, value: 'a' },
      { kind: 'user', key: ['bob'], value: 'b' } as const,
      { ...ann, value: null },
    ];
    await assertThrow(store, () => store.writeEntries({ writes, guards: [] }));
  }),
  storeCase('[STORE-6] reading a slice without room for one entry throws', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    await assertThrow(store, () => store.readJournal(ORDERS, { ...WHOLE, entriesMax: 0 }));
  }),
];

/** Writes of every kind, each to something that exists. */
async function changeEverything(store: Store): Promise<void> {
  await committed(store, [put('kept', 'other'), remove('moved'), put('new')]);
  await trimFully(store, ORDERS, 7);
  await store.noteTidemark(ORDERS, tidemark('c1', 7), []);
  const parts = new Map([
    ['0', 'other'],
    ['1', 'more'],
  ]);
  await store.writeDocument({ key: NOTE, type: 'text', replace: false, parts, guards: [] });
  const writes = [{ kind: 'setting', key: ['adapter_url'], value: 'other' } as const];
  await store.writeEntries({ writes, guards: [], erase: { users: ['bob'], clients: ['c2'], sources: ['Part'] } });
  await store.addStats([statRow('users', 60, 9)]);
}

async function assertThrow(store: Store, call: () => Promise<unknown>): Promise<void> {
  const before = await observeStore(store);
  await assert.rejects(call(), (error) => error instanceof Error && !(error instanceof assert.AssertionError));
  assert.deepEqual(await observeStore(store), before);
}
