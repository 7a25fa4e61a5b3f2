import assert from 'node:assert/strict';
import { Rng, seededRandom } from '@tidemark/client-testing';
import { acknowledgedSeq, type DeviceTidemark, type PartitionKey, type Store, sharedPartition } from '@tidemark/core';
import { put } from './change.ts';
import { assertPaging, committed, ORDERS } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const EPOCH = 'an epoch';
const ALL = 1_000_000;
const SHARED: PartitionKey = sharedPartition('Order');

function mark(client: string, base: number | null, epoch = EPOCH): DeviceTidemark {
  const start = base === null ? 9 : null;
  return { client, epoch, seq: (base ?? 0) + 3, base, start, seenAtMs: 1_700_000_000_000 };
}

async function note(store: Store, marks: readonly DeviceTidemark[], key = ORDERS): Promise<void> {
  for (const one of marks) assert.deepEqual(await store.noteTidemark(key, one, []), { status: 'written' });
}

const clientsOf = async (store: Store, below = ALL, key = ORDERS) =>
  (await store.listAcknowledged(key, { epoch: EPOCH, below, limit: ALL })).map(({ client }) => client);

const count = (store: Store, below: number, epoch = EPOCH, key = ORDERS) =>
  store.countAcknowledged(key, { epoch, below });

/** Cases about the index of tidemarks by what they acknowledge. */
export const acknowledgedCases: readonly StoreCase[] = [
  storeCase('[STORE-76] tidemarks are counted by epoch and by the base that they acknowledge', async ({ store }) => {
    assert.deepEqual(await count(store, 5), { devices: 0, below: 0 });
    await committed(store, [put('1')]);
    await note(store, [mark('a', 1), mark('b', 4), mark('c', 5), mark('d', null), mark('e', 1, 'another')]);
    assert.deepEqual(await count(store, 0), { devices: 4, below: 0 });
    assert.deepEqual(await count(store, 1), { devices: 4, below: 1 });
    assert.deepEqual(await count(store, 5), { devices: 4, below: 3 });
    assert.deepEqual(await count(store, 6), { devices: 4, below: 4 });
    assert.deepEqual(await count(store, 6, 'another'), { devices: 1, below: 1 });
    assert.deepEqual(await count(store, 6, 'an'), { devices: 0, below: 0 });
    assert.deepEqual(await count(store, 6, EPOCH, SHARED), { devices: 0, below: 0 });
  }),
  storeCase('[STORE-76] a tidemark that moves, up or down, is counted where it is now', async ({ store }) => {
    await committed(store, [put('1')]);
    for (const base of [3, 7, null, 2, 2, 36 ** 3]) {
      await note(store, [mark('a', base)]);
      const at = base ?? 0;
      assert.deepEqual(await count(store, at), { devices: 1, below: 0 });
      assert.deepEqual(await count(store, at + 1), { devices: 1, below: 1 });
      assert.deepEqual(await clientsOf(store), ['a']);
    }
    await note(store, [mark('a', 2, 'another')]);
    assert.deepEqual(await count(store, ALL), { devices: 0, below: 0 });
  }),
  storeCase('[STORE-77] tidemarks are listed by what they acknowledge, in pages of any size', async ({ store }) => {
    await committed(store, [put('1')]);
    await committed(store, [put('1')], { partition: SHARED });
    const clients = ['b', 'a', 'A', 'aa', 'a b', '\u{1F600}', '\uFF5E', 'é', 'a.b', '10', '9', '0'];
    const bases = [7, null, 7, 40, 1_000, 36, 35, 7, 7, 0, 1, 1];
    const marks = clients.map((client, at) => mark(client, bases[at] as number | null));
    await note(store, [...marks, mark('later', 5_000), mark('other life', 1, 'another')]);
    await note(store, [mark('elsewhere', 1)], SHARED);
    const sorted = [...marks].sort(
      (left, right) =>
        acknowledgedSeq(left) - acknowledgedSeq(right) ||
        Buffer.compare(Buffer.from(left.client), Buffer.from(right.client)),
    );
    const range = { epoch: EPOCH, below: 5_000 };
    assert.deepEqual(await store.listAcknowledged(ORDERS, { ...range, limit: ALL }), sorted);
    await assertPaging(sorted, (after, limit) =>
      store.listAcknowledged(ORDERS, { ...range, limit, ...(after === undefined ? {} : { after }) }),
    );
  }),
  storeCase('[STORE-78] what is erased is counted no longer', async ({ store }) => {
    await committed(store, [put('1')]);
    await committed(store, [put('1')], { partition: SHARED });
    for (const key of [ORDERS, SHARED]) await note(store, [mark('a', 1), mark('b', 2), mark('c', null)], key);
    await store.writeEntries({ writes: [], guards: [], erase: { clients: ['a', 'c'] } });
    for (const key of [ORDERS, SHARED]) {
      assert.deepEqual(await count(store, ALL, EPOCH, key), { devices: 1, below: 1 });
      assert.deepEqual(await clientsOf(store, ALL, key), ['b']);
    }
    await store.writeEntries({ writes: [], guards: [], erase: { users: ['ann'] } });
    await committed(store, [put('1')]);
    assert.deepEqual(await count(store, ALL), { devices: 0, below: 0 });
    assert.deepEqual(await count(store, ALL, EPOCH, SHARED), { devices: 1, below: 1 });
    await store.writeEntries({ writes: [], guards: [], erase: { sources: ['Order'] } });
    await committed(store, [put('1')], { partition: SHARED });
    assert.deepEqual(await count(store, ALL, EPOCH, SHARED), { devices: 0, below: 0 });
    await note(store, [mark('a', 1)], SHARED);
    await store.reset([]);
    await committed(store, [put('1')], { partition: SHARED });
    assert.deepEqual(await count(store, ALL, EPOCH, SHARED), { devices: 0, below: 0 });
    assert.deepEqual(await clientsOf(store, ALL, SHARED), []);
  }),
  storeCase('[STORE-76] in any history the counts and lists are those of the tidemarks', async ({ store }) => {
    const rng = new Rng(seededRandom(79));
    await committed(store, [put('1')]);
    for (let step = 0; step < 150; step++) {
      const client = `c${rng.below(12)}`;
      const base = rng.chance(15) ? null : rng.below(8);
      if (rng.chance(15)) await store.writeEntries({ writes: [], guards: [], erase: { clients: [client] } });
      else await note(store, [mark(client, base, rng.chance(20) ? 'another' : EPOCH)]);
      if (step % 10 === 0) await assertIndexed(store);
    }
    await assertIndexed(store);
  }),
];

async function assertIndexed(store: Store): Promise<void> {
  const all = await store.listTidemarks(ORDERS, { limit: ALL });
  for (const epoch of [EPOCH, 'another']) {
    const marks = all.filter((one) => one.epoch === epoch);
    for (const below of [0, 1, 4, 8, ALL]) {
      const wanted = marks.filter((one) => acknowledgedSeq(one) < below).map(({ client }) => client);
      assert.deepEqual(await count(store, below, epoch), { devices: marks.length, below: wanted.length });
      const listed = await store.listAcknowledged(ORDERS, { epoch, below, limit: ALL });
      assert.deepEqual(listed.map(({ client }) => client).sort(), wanted.sort());
    }
  }
}
