import assert from 'node:assert/strict';
import { type DeviceTidemark, sharedPartition, userPartition } from '@tidemark/core';
import { put, remove } from './change.ts';
import { observeStore } from './observe-store.ts';
import { populateStore, tidemark } from './populate-store.ts';
import { assertPaging, committed, ORDERS, trimFully } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const WRITTEN = { status: 'written' };
const GHOST = { kind: 'user', key: ['ghost'] } as const;

/** Cases about tidemarks: the last token of each device. */
export const tidemarkCases: readonly StoreCase[] = [
  storeCase('[STORE-49] a tidemark is returned as it was recorded, and the last one counts', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    assert.equal(await store.readTidemark(ORDERS, 'c1'), null);
    const marks: readonly DeviceTidemark[] = [
      { client: 'c1', epoch: 'e', seq: 2, base: 1, start: null, seenAtMs: 1_700_000_000_123 },
      { client: 'c1', epoch: 'another', seq: 1, base: null, start: 2, seenAtMs: 1_700_000_000_001 },
      { client: 'c1', epoch: 'another', seq: 1, base: null, start: 2, sent: 1_234, seenAtMs: 1_700_000_000_001 },
      { client: 'c1', epoch: 'e', seq: 2, base: 1, start: null, sent: 2, seenAtMs: 1_700_000_000_002 },
      { client: 'c1', epoch: 'another', seq: 0, base: 0, start: null, seenAtMs: 0 },
    ];
    for (const mark of marks) {
      assert.deepEqual(await store.noteTidemark(ORDERS, mark, []), WRITTEN);
      assert.deepEqual(await store.readTidemark(ORDERS, 'c1'), mark);
      assert.deepEqual(await store.listTidemarks(ORDERS, { limit: 10 }), [mark]);
    }
    assert.equal(await store.readTidemark(ORDERS, 'c2'), null);
    assert.equal(await store.readTidemark(sharedPartition('Order'), 'c1'), null);
  }),
  storeCase('[STORE-83] a tidemark is a conflict when the stored one is not the expected one', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    const first = tidemark('c1', 1);
    const second: DeviceTidemark = { ...first, base: null, start: 2, sent: 2 };
    const { sent: _, ...unsent } = second;
    const others: readonly DeviceTidemark[] = [
      unsent,
      { ...second, sent: 1 },
      { ...second, start: 1 },
      { ...second, base: 1 },
      { ...second, seq: second.seq + 1 },
      { ...second, epoch: 'another' },
      { ...second, seenAtMs: second.seenAtMs + 1 },
    ];
    assert.deepEqual(await store.noteTidemark(ORDERS, first, [], second), { status: 'conflict' });
    assert.equal(await store.readTidemark(ORDERS, 'c1'), null);
    assert.deepEqual(await store.noteTidemark(ORDERS, first, [], null), WRITTEN);
    assert.deepEqual(await store.noteTidemark(ORDERS, second, [], null), { status: 'conflict' });
    assert.deepEqual(await store.readTidemark(ORDERS, 'c1'), first);
    assert.deepEqual(await store.noteTidemark(ORDERS, second, [], first), WRITTEN);
    for (const expect of [first, ...others]) {
      assert.deepEqual(await store.noteTidemark(ORDERS, first, [], expect), { status: 'conflict' });
    }
    assert.deepEqual(await store.listTidemarks(ORDERS, { limit: 10 }), [second]);
    assert.deepEqual(await store.noteTidemark(ORDERS, first, [], second), WRITTEN);
    assert.deepEqual(await store.listTidemarks(ORDERS, { limit: 10 }), [first]);
    assert.deepEqual(await store.noteTidemark(ORDERS, tidemark('c2'), [GHOST], first), {
      status: 'gone',
      guard: GHOST,
    });
  }),
  storeCase('[STORE-49] recording a tidemark does not change the partition', async ({ store }) => {
    await populateStore(store);
    const before = await observeStore(store);
    await store.noteTidemark(ORDERS, tidemark('new'), []);
    const after = await observeStore(store);
    const withoutNote = after.partitions.map((partition) => ({
      ...partition,
      tidemarks: partition.tidemarks.filter(({ client }) => client !== 'new'),
    }));
    assert.deepEqual({ ...after, partitions: withoutNote }, before);
  }),
  storeCase('[STORE-50] tidemarks of a partition are listed once each, in pages of any size', async ({ store }) => {
    await committed(store, [put('1')]);
    await committed(store, [put('1')], { partition: userPartition(ORDERS.source, 'bob') });
    const clients = ['b', 'a', 'A', 'aa', 'a b', '\u{1F600}', '\uFF5E', 'é', 'constructor', '10', '9'];
    for (const client of clients) await store.noteTidemark(ORDERS, tidemark(client, client.length), []);
    await store.noteTidemark(userPartition(ORDERS.source, 'bob'), tidemark('elsewhere'), []);
    const all = await store.listTidemarks(ORDERS, { limit: 1_000 });
    assert.equal(all.length, clients.length);
    for (const client of clients) {
      assert.deepEqual(
        all.find((mark) => mark.client === client),
        tidemark(client, client.length),
      );
    }
    await assertPaging(all, (last, limit) => {
      return store.listTidemarks(ORDERS, last === undefined ? { limit } : { after: last, limit });
    });
  }),
  storeCase('[STORE-50] a listing of tidemarks continues after a client that is deleted by now', async ({ store }) => {
    await committed(store, [put('1')]);
    for (const client of ['a', 'b', 'c', 'd']) await store.noteTidemark(ORDERS, tidemark(client), []);
    const all = await store.listTidemarks(ORDERS, { limit: 10 });
    const after = all[1] ?? assert.fail();
    await store.writeEntries({ writes: [], guards: [], erase: { clients: [after.client] } });
    assert.deepEqual(await store.listTidemarks(ORDERS, { after, limit: 10 }), all.slice(2));
  }),
  storeCase('[STORE-51] a partition without any write keeps no tidemarks', async ({ store }) => {
    assert.deepEqual(await store.noteTidemark(ORDERS, tidemark('c1'), []), WRITTEN);
    assert.equal(await store.readTidemark(ORDERS, 'c1'), null);
    assert.deepEqual(await store.listTidemarks(ORDERS, { limit: 10 }), []);
    assert.deepEqual(await store.partitions({ limit: 10 }), []);
    await committed(store, [put('1')]);
    assert.equal(await store.readTidemark(ORDERS, 'c1'), null);
  }),
  storeCase('[STORE-52] tidemarks survive later writes, even if the partition becomes empty', async ({ store }) => {
    await committed(store, [put('1')]);
    await store.noteTidemark(ORDERS, tidemark('c1', 1), []);
    const { head } = await committed(store, [put('2'), remove('1')]);
    await committed(store, [remove('2')]);
    await trimFully(store, ORDERS, head + 1);
    assert.deepEqual(await store.listTidemarks(ORDERS, { limit: 10 }), [tidemark('c1', 1)]);
    assert.deepEqual(await store.partitions({ limit: 10 }), [ORDERS]);
  }),
];
