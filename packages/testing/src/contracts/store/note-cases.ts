import assert from 'node:assert/strict';
import {
  groupPartition,
  type NoteRef,
  type NotesWrite,
  type NoteWrite,
  ownerText,
  type PartitionKey,
  type Store,
  sharedPartition,
  userPartition,
} from '@tidemark/core';
import { IS_LONG } from '../../kit/is-long.ts';
import { put, remove } from './change.ts';
import { assertPaging, committed, ORDERS } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const SHARED: PartitionKey = sharedPartition('Order');
const CONFLICT = { status: 'conflict' };

const outcome = (key: string, text: string | null = key): NoteWrite => ({ kind: 'outcome', key, text });

function notes(writes: readonly NoteWrite[], client = 'c1', nowMs = 1_000): { readonly notes: NotesWrite } {
  return { notes: { client, writes, nowMs } };
}

async function textOf(store: Store, ref: NoteRef, client = 'c1', partition = ORDERS): Promise<string | null> {
  const found = await store.readNotes(partition, client, [ref]);
  return found[0]?.text ?? null;
}

/** Cases about notes: what the store keeps about a device's uploads. */
export const noteCases: readonly StoreCase[] = [
  storeCase('[STORE-68] notes are written with the changes, in one step', async ({ store }) => {
    const state = await committed(store, [put('1')], notes([outcome('op1', 'done')]));
    assert.deepEqual([state.head, state.size], [1, 1]);
    assert.deepEqual(await store.readNotes(ORDERS, 'c1', [{ kind: 'outcome', key: 'op1' }]), [
      { kind: 'outcome', key: 'op1', text: 'done' },
    ]);
    const stale = { partition: ORDERS, changes: [put('1', 'w', 99)], guards: [], ...notes([outcome('op2')]) };
    assert.deepEqual(await store.commit(stale), CONFLICT);
    const guard = { kind: 'client', key: ['nobody'] } as const;
    const gone = await store.commit({ ...stale, changes: [put('1')], guards: [guard] });
    assert.deepEqual(gone, { status: 'gone', guard });
    assert.equal(await textOf(store, { kind: 'outcome', key: 'op2' }), null);
  }),
  storeCase('[STORE-68] notes alone do not change a partition, not even one without any write', async ({ store }) => {
    const before = await store.partition(ORDERS);
    assert.deepEqual(await committed(store, [], notes([outcome('op1')])), before);
    assert.deepEqual(await committed(store, [remove('absent')], notes([outcome('op2')])), before);
    assert.deepEqual(await store.partitions({ limit: 10 }), []);
    assert.equal(await textOf(store, { kind: 'outcome', key: 'op1' }), 'op1');
    await committed(store, [put('1')]);
    assert.equal(await textOf(store, { kind: 'outcome', key: 'op2' }), 'op2');
  }),
  storeCase('[STORE-69] an unexpected note is a conflict, and nothing is written', async ({ store }) => {
    const first = [{ ...outcome('op', 'a'), expect: null }];
    await committed(store, [put('1')], notes(first));
    const again = { partition: ORDERS, changes: [put('2')], guards: [], ...notes([outcome('other'), ...first]) };
    assert.deepEqual(await store.commit(again), CONFLICT);
    assert.equal(await textOf(store, { kind: 'outcome', key: 'other' }), null);
    assert.equal((await store.partition(ORDERS)).head, 1);
    const wrong = notes([{ ...outcome('op', 'b'), expect: 'z' }]);
    assert.deepEqual(await store.commit({ partition: ORDERS, changes: [], guards: [], ...wrong }), CONFLICT);
    await committed(store, [], notes([{ ...outcome('op', 'b'), expect: 'a' }]));
    assert.equal(await textOf(store, { kind: 'outcome', key: 'op' }), 'b');
    await committed(
      store,
      [],
      notes([
        { ...outcome('op', null), expect: 'b' },
        { ...outcome('x', null), expect: null },
      ]),
    );
    assert.equal(await textOf(store, { kind: 'outcome', key: 'op' }), null);
  }),
  storeCase('[STORE-69] of many concurrent creations of a note, one succeeds', async ({ store }) => {
    const attempts = Array.from({ length: 8 }, (_, index) =>
      store.commit({
        ...{ partition: ORDERS, changes: [put(`o${index}`)], guards: [] },
        ...notes([{ ...outcome('op', String(index)), expect: null }]),
      }),
    );
    const results = await Promise.all(attempts);
    assert.equal(results.filter(({ status }) => status === 'committed').length, 1);
    assert.equal((await store.partition(ORDERS)).size, 1);
  }),
  storeCase('[STORE-70] notes of different partitions, devices, kinds and keys are separate', async ({ store }) => {
    const kinds = ['outcome', 'settled', 'link', 'footprint'] as const;
    const partitions = [
      ORDERS,
      SHARED,
      userPartition('Part', 'ann'),
      userPartition('ann', 'Order'),
      groupPartition('ann', 'Order'),
    ];
    const keys = ['c1', '1', 'a b', ...(IS_LONG ? ['k', '\u{1F600}'] : [])];
    const places = partitions.flatMap((partition) =>
      ['c1', 'ann', '', ...(IS_LONG ? ['c', 'outcome'] : [])].flatMap((client) =>
        kinds.flatMap((kind) => keys.map((key) => ({ partition, client, kind, key }))),
      ),
    );
    for (const { partition, client, kind, key } of places) {
      const write = { kind, key, text: JSON.stringify([partition, client, kind, key]) };
      await committed(store, [], { partition, ...notes([write], client) });
    }
    for (const { partition, client, kind, key } of places) {
      const text = JSON.stringify([partition, client, kind, key]);
      assert.equal(await textOf(store, { kind, key }, client, partition), text);
    }
    for (const kind of kinds)
      assert.equal((await store.listNotes(ORDERS, 'c1', { kind, limit: 100 })).length, keys.length);
    assert.deepEqual(await store.listNotes(ORDERS, 'nobody', { kind: 'outcome', limit: 100 }), []);
  }),
  storeCase('[STORE-70] texts of notes are returned unchanged, even long and unusual ones', async ({ store }) => {
    const texts = ['', ' ', ' a', '12 b', '\u{1F600}\u0000\n', 'x'.repeat(100_000)];
    const writes = texts.map((text, index) => ({ ...outcome(`op${index}`, text), endsAtMs: 5_000 + index }));
    await committed(store, [], notes(writes));
    for (const [index, text] of texts.entries()) {
      assert.equal(await textOf(store, { kind: 'outcome', key: `op${index}` }), text);
    }
  }),
  storeCase('[STORE-71] notes of a kind are listed once each in the order of their keys', async ({ store }) => {
    const keys = ['b', 'a', 'A', 'aa', 'a b', '\u{1F600}', '\uFF5E', 'é', 'constructor', '10', '9'];
    await committed(store, [], notes(keys.map((key) => outcome(key))));
    await committed(
      store,
      [],
      notes([
        { kind: 'settled', key: 'z', text: 'z' },
        { kind: 'link', key: 'l', text: 'l' },
      ]),
    );
    await committed(store, [], notes([outcome('elsewhere')], 'c2'));
    const all = await store.listNotes(ORDERS, 'c1', { kind: 'outcome', limit: 1_000 });
    assert.deepEqual(new Set(all.map(({ key }) => key)), new Set(keys));
    assert.ok(all.every(({ kind, key, text }) => kind === 'outcome' && key === text));
    await assertPaging(all, (after, limit) => {
      const from = after === undefined ? {} : { after: after.key };
      return store.listNotes(ORDERS, 'c1', { kind: 'outcome', limit, ...from });
    });
  }),
  storeCase('[STORE-72] expired notes are removed by the next write of their device', async ({ store }) => {
    const settled = (key: string, endsAtMs?: number): NoteWrite => {
      return { kind: 'settled', key, text: key, ...(endsAtMs === undefined ? {} : { endsAtMs }) };
    };
    const list = async (client = 'c1') =>
      (await store.listNotes(ORDERS, client, { kind: 'settled', limit: 100 })).map(({ key }) => key);
    await committed(store, [], notes([settled('a', 2_000), settled('b', 3_000), settled('c'), settled('d', 2_000)]));
    await committed(store, [], notes([settled('other', 2_000)], 'c2'));
    await committed(store, [], notes([], 'c1', 1_999));
    assert.deepEqual(await list(), ['a', 'b', 'c', 'd']);
    // A rewritten note expires with its new time.
    await committed(store, [], notes([settled('d', 9_000)], 'c1', 1_999));
    await committed(store, [], notes([settled('e')], 'c1', 2_000));
    assert.deepEqual(await list(), ['b', 'c', 'd', 'e']);
    assert.deepEqual(await list('c2'), ['other']);
    await committed(store, [], notes([settled('b')], 'c1', 2_500));
    await committed(store, [], notes([], 'c1', 8_000));
    assert.deepEqual(await list(), ['b', 'c', 'd', 'e']);
  }),
  storeCase('[STORE-72] a commit with the same note twice throws', async ({ store }) => {
    const twice = notes([outcome('op', 'a'), outcome('op', 'b')]);
    await assert.rejects(store.commit({ partition: ORDERS, changes: [], guards: [], ...twice }));
    await committed(store, [], notes([outcome('op'), { kind: 'settled', key: 'op', text: 's' }]));
  }),
  storeCase('[STORE-73] notes are erased with their device, user and source, and by a reset', async ({ store }) => {
    const left = async () => {
      const found: string[] = [];
      for (const partition of [ORDERS, SHARED, userPartition('Part', 'bob')]) {
        for (const client of ['c1', 'c2']) {
          const some = await store.listNotes(partition, client, { kind: 'outcome', limit: 10 });
          found.push(...some.map(({ key }) => `${partition.source} ${ownerText(partition.owner)} ${client} ${key}`));
        }
      }
      return found;
    };
    const populate = async () => {
      for (const partition of [ORDERS, SHARED, userPartition('Part', 'bob')]) {
        for (const client of ['c1', 'c2']) {
          await committed(store, [], { partition, ...notes([{ ...outcome('op'), endsAtMs: 9_000 }], client) });
        }
      }
    };
    await populate();
    await store.writeEntries({ writes: [], guards: [], erase: { clients: ['c1', 'ann'] } });
    assert.deepEqual(await left(), ['Order ann c2 op', 'Order null c2 op', 'Part bob c2 op']);
    await store.writeEntries({ writes: [], guards: [], erase: { users: ['ann', 'c2', 'null'] } });
    assert.deepEqual(await left(), ['Order null c2 op', 'Part bob c2 op']);
    await populate();
    await store.writeEntries({ writes: [], guards: [], erase: { sources: ['Order', 'bob'] } });
    assert.deepEqual(await left(), ['Part bob c1 op', 'Part bob c2 op']);
    await store.reset([]);
    assert.deepEqual(await left(), []);
  }),
];
