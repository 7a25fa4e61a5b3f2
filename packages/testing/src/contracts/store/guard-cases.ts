import assert from 'node:assert/strict';
import type { DocumentWrite, EntryRef, Guard, Store } from '@tidemark/core';
import { put } from './change.ts';
import { observeStore } from './observe-store.ts';
import { populateStore, tidemark } from './populate-store.ts';
import { committed, ORDERS } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const ANN: EntryRef = { kind: 'user', key: ['ann'] };
const ORDER: EntryRef = { kind: 'source', key: ['Order'] };
const GHOST: EntryRef = { kind: 'user', key: ['ghost'] };
const PHANTOM: EntryRef = { kind: 'source', key: ['phantom'] };

const NOTE: DocumentWrite = {
  key: { scope: { kind: 'server' }, name: 'note' },
  type: 'text',
  replace: true,
  parts: new Map([['0', 'guarded']]),
  guards: [],
};

/** Cases about guards: a write happens only while all of its guards exist. */
export const guardCases: readonly StoreCase[] = [
  storeCase('[STORE-67] a guard with a version is missing as soon as its entry is written again', async ({ store }) => {
    await populateStore(store);
    const versionOf = async () => (await store.readEntry(ANN))?.version ?? assert.fail();
    const guard = { ...ANN, version: await versionOf() };
    assert.equal((await committed(store, [put('1')], { guards: [guard] })).head, 6);
    await store.writeEntries({ writes: [{ ...ANN, value: 'again' }], guards: [guard] });
    await assertGone(store, [guard], guard);
    await assertGone(store, [ORDER, guard], guard);
    const renewed = { ...ANN, version: await versionOf() };
    assert.equal((await committed(store, [put('1')], { guards: [renewed] })).head, 7);
  }),
  storeCase('[STORE-19] if all guards exist, every kind of write is applied', async ({ store }) => {
    await populateStore(store);
    const guards = [ANN, ORDER];
    assert.equal((await committed(store, [put('1')], { guards })).head, 6);
    const written = { status: 'written' };
    assert.deepEqual(await store.writeDocument({ ...NOTE, guards }), written);
    assert.deepEqual(await store.noteTidemark(ORDERS, tidemark('c1', 6), guards), written);
    assert.deepEqual(await store.writeEntries({ writes: [{ ...GHOST, value: 'here' }], guards }), written);
    assert.equal((await store.readDocument(NOTE.key))?.parts.get('0'), 'guarded');
    assert.deepEqual(await store.readTidemark(ORDERS, 'c1'), tidemark('c1', 6));
    assert.equal((await store.readEntry(GHOST))?.value, 'here');
  }),
  storeCase('[STORE-19] if a guard is missing, no kind of write is applied', async ({ store }) => {
    await populateStore(store);
    const before = await observeStore(store);
    for (const guards of [[GHOST], [ANN, GHOST], [GHOST, ANN], [ANN, ORDER, GHOST]]) {
      await assertGone(store, guards, GHOST);
    }
    assert.deepEqual(await observeStore(store), before);
  }),
  storeCase('[STORE-19] the first missing guard is named', async ({ store }) => {
    await populateStore(store);
    await assertGone(store, [ANN, PHANTOM, GHOST], PHANTOM);
    await assertGone(store, [GHOST, ORDER, PHANTOM], GHOST);
  }),
  storeCase('[STORE-19] a removed guard is missing, and exists when it is created again', async ({ store }) => {
    await populateStore(store);
    await store.writeEntries({ writes: [{ ...ANN, value: null }], guards: [] });
    await assertGone(store, [ORDER, ANN], ANN);
    await store.writeEntries({ writes: [{ ...ANN, value: 'again' }], guards: [] });
    assert.equal((await committed(store, [put('1')], { guards: [ORDER, ANN] })).head, 6);
  }),
  storeCase('[STORE-19] a guard is a kind and a whole key', async ({ store }) => {
    await populateStore(store);
    const lookalikes: readonly EntryRef[] = [
      { kind: 'token', key: ['ann'] },
      { kind: 'user', key: ['Ann'] },
      { kind: 'user_client', key: ['ann', 'c2'] },
      { kind: 'user_client', key: ['c1', 'ann'] },
    ];
    for (const guard of lookalikes) await assertGone(store, [guard], guard);
    const guards: readonly EntryRef[] = [{ kind: 'user_client', key: ['ann', 'c1'] }];
    assert.equal((await committed(store, [put('1')], { guards })).head, 6);
  }),
  storeCase(
    '[STORE-19] a missing guard is reported before a conflict, and even if there is nothing to do',
    async ({ store }) => {
      const gone = { status: 'gone', guard: GHOST };
      const conflict = { partition: ORDERS, changes: [put('1', 'v', 9)], expectHead: 9 };
      assert.deepEqual(await store.commit({ ...conflict, guards: [GHOST] }), gone);
      assert.deepEqual(await store.commit({ partition: ORDERS, changes: [], guards: [GHOST] }), gone);
      assert.deepEqual(await store.writeDocument({ ...NOTE, expect: 9, guards: [GHOST] }), gone);
      assert.deepEqual(await store.noteTidemark(ORDERS, tidemark('c1'), [GHOST]), gone);
      const writes = [{ ...ANN, value: 'v', expect: 9 }];
      assert.deepEqual(await store.writeEntries({ writes, guards: [GHOST] }), gone);
    },
  ),
  storeCase('[STORE-19] guards refer to the state before the write', async ({ store }) => {
    const made = { writes: [{ ...ANN, value: 'v' }], guards: [ANN] };
    assert.deepEqual(await store.writeEntries(made), { status: 'gone', guard: ANN });
    await store.writeEntries({ ...made, guards: [] });
    const removed = { writes: [{ ...ANN, value: null }], guards: [ANN] };
    assert.deepEqual(await store.writeEntries(removed), { status: 'written' });
    assert.equal(await store.readEntry(ANN), null);
  }),
];

async function assertGone(store: Store, guards: readonly Guard[], guard: Guard): Promise<void> {
  const gone = { status: 'gone', guard };
  assert.deepEqual(await store.commit({ partition: ORDERS, changes: [put('kept', 'new')], guards }), gone);
  assert.deepEqual(await store.writeDocument({ ...NOTE, guards }), gone);
  assert.deepEqual(await store.noteTidemark(ORDERS, tidemark('c1', 9), guards), gone);
  const writes = [{ kind: 'setting', key: ['adapter_url'], value: 'new' } as const];
  assert.deepEqual(await store.writeEntries({ writes, guards, erase: { users: ['bob'], sources: ['Part'] } }), gone);
}
