import assert from 'node:assert/strict';
import type { JournalRange, JournalSlice, PartitionState, Store } from '@tidemark/core';
import { put, recordOf, remove } from './change.ts';
import { committed, ORDERS, trimFully, WHOLE, wholeJournal } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const D = recordOf('d', 'v');
const F = recordOf('f', 'v');
const B = recordOf('b', 'w');
const G = recordOf('g', 'v');

/** Cases about slices of the journal. */
export const journalCases: readonly StoreCase[] = [
  storeCase('[STORE-22] a slice is ascending and has every entry of its range', async ({ store }) => {
    const state = await mixedJournal(store);
    const all = { state, records: [D, F, B, G], seqs: [4, 6, 8, 10], tombstones: ['a', 'c', 'e'], upTo: 11 };
    assert.deepEqual(await wholeJournal(store, ORDERS), all);
  }),
  storeCase('[STORE-22] a slice begins after the given seq, whether or not there is an entry', async ({ store }) => {
    const state = await mixedJournal(store);
    const rest = { state, records: [F, B, G], seqs: [6, 8, 10], tombstones: ['a', 'c', 'e'], upTo: 11 };
    assert.deepEqual(await slice(store, { after: 4 }), rest);
    assert.deepEqual(await slice(store, { after: 5 }), rest);
    const shorter = { ...rest, records: [B, G], seqs: [8, 10] };
    assert.deepEqual(await slice(store, { after: 6 }), shorter);
    assert.deepEqual(await slice(store, { after: 7 }), { ...shorter, tombstones: ['c', 'e'] });
    assert.deepEqual(await slice(store, { after: 10 }), {
      state,
      records: [],
      seqs: [],
      tombstones: ['e'],
      upTo: 11,
    });
  }),
  storeCase('[STORE-23] records and tombstones together are at most entriesMax', async ({ store }) => {
    const state = await mixedJournal(store);
    const cuts = [];
    for (let entriesMax = 1; entriesMax <= 7; entriesMax++) cuts.push(await slice(store, { after: 5, entriesMax }));
    assert.deepEqual(cuts, [
      { state, records: [F], seqs: [6], tombstones: [], upTo: 6 },
      { state, records: [F], seqs: [6], tombstones: ['a'], upTo: 7 },
      { state, records: [F, B], seqs: [6, 8], tombstones: ['a'], upTo: 8 },
      { state, records: [F, B], seqs: [6, 8], tombstones: ['a', 'c'], upTo: 9 },
      { state, records: [F, B, G], seqs: [6, 8, 10], tombstones: ['a', 'c'], upTo: 10 },
      { state, records: [F, B, G], seqs: [6, 8, 10], tombstones: ['a', 'c', 'e'], upTo: 11 },
      { state, records: [F, B, G], seqs: [6, 8, 10], tombstones: ['a', 'c', 'e'], upTo: 11 },
    ]);
  }),
  storeCase('[STORE-24] records and ids of tombstones together are at most unitsMax', async ({ store }) => {
    await mixedJournal(store);
    const one = F.length;
    const ends = [];
    for (const unitsMax of [one, one + 1, 2 * one, 2 * one + 1, 2 * one + 2, 3 * one + 1, 3 * one + 2, 3 * one + 3]) {
      ends.push((await slice(store, { after: 5, unitsMax })).upTo);
    }
    assert.deepEqual(ends, [6, 7, 7, 8, 9, 9, 10, 11]);
  }),
  storeCase('[STORE-24] units are those of UTF-16, not bytes and not characters', async ({ store }) => {
    await committed(store, [put('grün😀')]);
    const changes = [put('1', 'é😀'), put('2', '€'), put('3', '😀😀'), remove('grün😀'), put('4', 'ß')];
    await committed(store, changes);
    let units = 0;
    for (const [index, { id, record }] of changes.entries()) {
      units += (record ?? id).length;
      const end = index + 2;
      assert.equal((await slice(store, { after: 1, unitsMax: units })).upTo, end);
      assert.equal((await slice(store, { after: 1, unitsMax: units - 1 })).upTo, Math.max(2, end - 1));
    }
  }),
  storeCase('[STORE-24] the first entry is returned whatever its size', async ({ store }) => {
    const state = await mixedJournal(store);
    for (const unitsMax of [0, 1]) {
      const record = { state, records: [F], seqs: [6], tombstones: [], upTo: 6 };
      assert.deepEqual(await slice(store, { after: 5, unitsMax }), record);
      const last = { state, records: [], seqs: [], tombstones: ['e'], upTo: 11 };
      assert.deepEqual(await slice(store, { after: 10, unitsMax }), last);
    }
    const tombstone = { state, records: [], seqs: [], tombstones: ['a'], upTo: 7 };
    assert.deepEqual(await slice(store, { after: 6, unitsMax: 0 }), tombstone);
    assert.deepEqual(await slice(store, { after: 6, unitsMax: B.length }), tombstone);
  }),
  storeCase('[STORE-25] tombstones up to tombstonesAfter are skipped, records are not', async ({ store }) => {
    const state = await mixedJournal(store);
    const all = { state, records: [D, F, B, G], seqs: [4, 6, 8, 10], upTo: 11 };
    assert.deepEqual(await slice(store, { tombstonesAfter: 6 }), { ...all, tombstones: ['a', 'c', 'e'] });
    assert.deepEqual(await slice(store, { tombstonesAfter: 7 }), { ...all, tombstones: ['c', 'e'] });
    assert.deepEqual(await slice(store, { tombstonesAfter: 8 }), { ...all, tombstones: ['c', 'e'] });
    assert.deepEqual(await slice(store, { tombstonesAfter: 10 }), { ...all, tombstones: ['e'] });
    assert.deepEqual(await slice(store, { tombstonesAfter: 11 }), { ...all, tombstones: [] });
    assert.deepEqual(await slice(store, { tombstonesAfter: 1_000 }), { ...all, tombstones: [] });
  }),
  storeCase('[STORE-25] skipped tombstones take no room, and `after` applies to tombstones too', async ({ store }) => {
    const state = await mixedJournal(store);
    const two = { state, records: [F, B], seqs: [6, 8], tombstones: [] };
    const cut = await slice(store, { after: 5, tombstonesAfter: 11, entriesMax: 2 });
    assert.deepEqual({ ...cut, upTo: 8 }, { ...two, upTo: 8 });
    assert.ok(cut.upTo === 8 || cut.upTo === 9);
    const light = await slice(store, { after: 5, tombstonesAfter: 11, unitsMax: 2 * F.length });
    assert.deepEqual({ ...light, upTo: 8 }, { ...two, upTo: 8 });
    const late = { state, records: [B, G], seqs: [8, 10], tombstones: ['c', 'e'], upTo: 11 };
    assert.deepEqual(await slice(store, { after: 7, tombstonesAfter: 3 }), late);
  }),
  storeCase('[STORE-26] a slice that leaves nothing out ends at the head', async ({ store }) => {
    const state = await mixedJournal(store);
    const none = { state, records: [], seqs: [], tombstones: [], upTo: 11 };
    for (const after of [11, 12, 1_000]) assert.deepEqual(await slice(store, { after }), none);
    assert.equal((await slice(store, { entriesMax: 7 })).upTo, 11);
    assert.equal((await slice(store, { tombstonesAfter: 11, entriesMax: 4 })).upTo, 11);
    assert.equal((await slice(store, { tombstonesAfter: 11, unitsMax: 4 * F.length })).upTo, 11);
    assert.deepEqual(await slice(store, { after: 10, tombstonesAfter: 11, entriesMax: 1 }), none);
  }),
  storeCase('[STORE-26] a slice ends at the head even if there is no entry at it any more', async ({ store }) => {
    await committed(store, [put('1'), put('2')]);
    await committed(store, [remove('2')]);
    const state = await trimFully(store, ORDERS, 3);
    const one = { state, records: [recordOf('1', 'v')], seqs: [1], tombstones: [], upTo: 3 };
    assert.deepEqual(await wholeJournal(store, ORDERS), one);
    assert.deepEqual(await slice(store, { entriesMax: 1, unitsMax: 0 }), one);
    assert.deepEqual(await slice(store, { after: 1 }), { state, records: [], seqs: [], tombstones: [], upTo: 3 });
  }),
  storeCase('[STORE-80] live records in a range of seqs are counted, tombstones are not', async ({ store }) => {
    assert.equal((await store.countRecords(ORDERS, { after: 0, upTo: 10 })).count, 0);
    const state = await mixedJournal(store);
    const seqs = [4, 6, 8, 10];
    for (let after = 0; after <= 12; after++) {
      for (let upTo = after; upTo <= 12; upTo++) {
        const count = seqs.filter((seq) => seq > after && seq <= upTo).length;
        assert.deepEqual(await store.countRecords(ORDERS, { after, upTo }), { state, count }, `(${after}, ${upTo}]`);
      }
    }
  }),
];

/** The journal then holds: d 4, f 6, tombstone a 7, b 8, tombstone c 9, g 10, tombstone e 11. */
async function mixedJournal(store: Store): Promise<PartitionState> {
  await committed(
    store,
    ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => put(id)),
  );
  return committed(store, [remove('a'), put('b', 'w'), remove('c'), put('g'), remove('e')]);
}

function slice(store: Store, range: Partial<JournalRange>): Promise<JournalSlice> {
  return store.readJournal(ORDERS, { ...WHOLE, ...range });
}
