import assert from 'node:assert/strict';
import { type Change, type Commit, keptBytes, type NoteWrite, type Store, userPartition } from '@tidemark/core';
import { SETTLED_KEPT_MS } from '@tidemark/protocol';
import { newTidemark } from '../../kit/new-tidemark.ts';
import { put, readRecord, recordOf, remove } from './change.ts';
import { observeStore } from './observe-store.ts';
import { committed, ORDERS, trimFully } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const bytes = (...texts: readonly (readonly [id: string, text: string])[]) =>
  texts.reduce((sum, [id, text]) => sum + Buffer.byteLength(recordOf(id, text)), 0);
const statusOf = async (store: Store, changes: readonly Change[], bytesMax: number, more: Partial<Commit> = {}) =>
  (await store.commit({ partition: ORDERS, changes, guards: [], bytesMax, ...more })).status;
/** Null is the text of a deleted object. */
const usedBytes = (texts: ReadonlyMap<string, string | null>) =>
  [...texts].reduce((sum, [id, text]) => sum + (text === null ? keptBytes(id) : bytes([id, text])), 0);
const notes = (writes: readonly NoteWrite[], nowMs = 1_000, client = 'c1') => ({ notes: { client, writes, nowMs } });
const outcome = (key: string, text: string | null): NoteWrite => ({ kind: 'outcome', key, text });

/** Changes of many objects, which are noted in `texts`. */
function someChanges(round: number, texts: Map<string, string | null>): readonly Change[] {
  const changes = new Map<string, Change>();
  for (let index = 0; index < 30; index++) {
    const id = `é${(round * 7 + index * 11) % 200}`;
    if (changes.has(id)) continue;
    const text = 'é'.repeat((round * index) % 23);
    const isGone = (round + index) % 5 === 0;
    changes.set(id, isGone ? remove(id) : put(id, text));
    if (!isGone || texts.has(id)) texts.set(id, isGone ? null : text);
  }
  return [...changes.values()];
}

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
    const long = 'v'.repeat(200);
    const bytesMax = bytes(['1', long], ['2', long]);
    await committed(store, [put('1', long), put('2', long)]);
    assert.equal(await statusOf(store, [put('3', 'vvvv'), remove('1')], bytesMax), 'committed');
    assert.equal(await statusOf(store, [put('4', long)], bytesMax), 'too_large');
    assert.equal(await statusOf(store, [put('2', 'v')], bytesMax), 'committed');
    assert.equal(await statusOf(store, [put('4', long)], bytesMax), 'committed');
  }),
  storeCase('[STORE-75] a partition beyond bytesMax may shrink but not grow', async ({ store }) => {
    await committed(store, [put('1', 'x'.repeat(500)), put('2', 'x'.repeat(500))]);
    assert.equal(await statusOf(store, [put('1', 'x'.repeat(400))], 300), 'committed');
    assert.equal(await statusOf(store, [put('1', 'x'.repeat(401))], 300), 'too_large');
    assert.equal(await statusOf(store, [remove('1'), remove('2')], 300), 'committed');
    assert.equal(await statusOf(store, [put('1', 'x'.repeat(40))], 300), 'committed');
  }),
  storeCase('[STORE-75] the bytes of a partition are exact after many changes', async ({ store }) => {
    const texts = new Map<string, string | null>();
    for (let round = 0; round < 40; round++) await committed(store, someChanges(round, texts));
    const used = usedBytes(texts);
    assert.equal(await store.bytes(ORDERS), used);
    const one = bytes(['new', 'v']);
    assert.equal(await statusOf(store, [put('new', 'v')], used + one - 1), 'too_large');
    assert.equal(await statusOf(store, [put('new', 'v')], used + one), 'committed');
    for await (const finding of store.verify(readRecord)) assert.fail(JSON.stringify(finding));
  }),
  storeCase('[STORE-82] tombstones count until they are trimmed or their objects return', async ({ store }) => {
    assert.equal(await store.bytes(ORDERS), 0);
    const ids = Array.from({ length: 9 }, (_, index) => `${index}${'é'.repeat(200)}`);
    for (const id of ids) await committed(store, [put(id, '')]);
    await committed(
      store,
      ids.map((id) => remove(id)),
    );
    const [first = '', ...others] = ids;
    const kept = (some: readonly string[]) => some.reduce((sum, id) => sum + keptBytes(id), 0);
    assert.equal(await store.bytes(ORDERS), kept(ids));
    await committed(store, [remove(first), remove('unknown')]);
    assert.equal(await store.bytes(ORDERS), kept(ids));
    await committed(store, [put(first, '')]);
    assert.equal(await store.bytes(ORDERS), kept(others) + bytes([first, '']));
    const { head } = await store.partition(ORDERS);
    await trimFully(store, ORDERS, head - 4);
    assert.equal(await store.bytes(ORDERS), kept(others.slice(-3)) + bytes([first, '']));
    await trimFully(store, ORDERS, head);
    assert.equal(await store.bytes(ORDERS), bytes([first, '']));
    for await (const finding of store.verify(readRecord)) assert.fail(JSON.stringify(finding));
  }),
  storeCase(
    '[STORE-82] creating and deleting without end meets bytesMax, and trimming makes room',
    async ({ store }) => {
      const idOf = (round: number) => `${round}`.padEnd(512, '-');
      const bytesMax = 20_000;
      const turn = async (round: number) => {
        const status = await statusOf(store, [put(idOf(round))], bytesMax);
        // A deletion is accepted whatever the partition takes.
        if (status === 'committed') assert.equal(await statusOf(store, [remove(idOf(round))], bytesMax), 'committed');
        return status;
      };
      let rounds = 0;
      while (rounds < 100 && (await turn(rounds)) === 'committed') rounds++;
      assert.ok(rounds > 20 && rounds < 40, `${rounds} rounds`);
      assert.ok((await store.bytes(ORDERS)) <= bytesMax + keptBytes(idOf(0)));
      assert.equal(await statusOf(store, [remove(idOf(0)), put(idOf(rounds))], bytesMax), 'too_large');
      await trimFully(store, ORDERS, (await store.partition(ORDERS)).head);
      assert.equal(await store.bytes(ORDERS), 0);
      assert.equal(await turn(rounds), 'committed');
    },
  ),
  storeCase('[STORE-82] notes count until they are replaced, removed, expired or erased', async ({ store }) => {
    await committed(store, [], notes([outcome('a', 'é'), outcome('bé', '')]));
    assert.equal(await store.bytes(ORDERS), keptBytes('a', 'é') + keptBytes('bé'));
    await committed(store, [put('1')], notes([outcome('a', 'longer'), outcome('bé', null), outcome('absent', null)]));
    assert.equal(await store.bytes(ORDERS), bytes(['1', 'v']) + keptBytes('a', 'longer'));
    const ending = Array.from({ length: 120 }, (_, index) => ({ ...outcome(`e${index}`, 'x'), endsAtMs: 2_000 }));
    await committed(store, [], notes(ending));
    const one = { kind: 'settled', key: 'a', text: 'longer', endsAtMs: 9_000 } as const;
    await committed(store, [], notes([outcome('a', null), one, { ...outcome('e0', 'again'), endsAtMs: 9_000 }], 2_000));
    await committed(store, [], notes([], 2_000));
    const left = bytes(['1', 'v']) + keptBytes('a', 'longer') + keptBytes('e0', 'again');
    assert.equal(await store.bytes(ORDERS), left);
    await committed(store, [], notes([outcome('a', 'of another')], 1_000, 'c2'));
    await store.writeEntries({ writes: [], guards: [], erase: { clients: ['c1'] } });
    assert.equal(await store.bytes(ORDERS), bytes(['1', 'v']) + keptBytes('a', 'of another'));
    await store.writeEntries({ writes: [], guards: [], erase: { users: ['ann'] } });
    assert.equal(await store.bytes(ORDERS), 0);
    await committed(store, [], notes([outcome('a', 'x')]));
    await store.writeEntries({ writes: [], guards: [], erase: { sources: ['Order'] } });
    assert.equal(await store.bytes(ORDERS), 0);
    await committed(store, [], notes([outcome('a', 'x')]));
    await store.reset([]);
    assert.equal(await store.bytes(ORDERS), 0);
  }),
  storeCase(
    '[STORE-82] a commit whose notes do not fit is refused whole; fewer or smaller ones fit',
    async ({ store }) => {
      const bytesMax = bytes(['1', 'v']) + keptBytes('a', 'xx');
      assert.equal(await statusOf(store, [put('1')], bytesMax, notes([outcome('a', 'xxx')])), 'too_large');
      assert.equal(await statusOf(store, [], bytesMax, notes([outcome('a', 'x'.repeat(200))])), 'too_large');
      assert.deepEqual(await store.readNotes(ORDERS, 'c1', [{ kind: 'outcome', key: 'a' }]), []);
      assert.equal(await store.bytes(ORDERS), 0);
      assert.equal(await statusOf(store, [put('1')], bytesMax, notes([outcome('a', 'xx')])), 'committed');
      assert.equal(await statusOf(store, [], bytesMax, notes([outcome('b', 'x')])), 'too_large');
      assert.equal(await statusOf(store, [remove('1')], bytesMax, notes([outcome('b', 'x')])), 'too_large');
      const settled = { kind: 'settled', key: 'a', text: 'xx', endsAtMs: 2_000 } as const;
      assert.equal(await statusOf(store, [], bytesMax, notes([outcome('a', null), settled])), 'committed');
      assert.equal(await statusOf(store, [], bytesMax, notes([outcome('b', 'xx')], 1_999)), 'too_large');
      // What has ended makes room in the same step.
      assert.equal(await statusOf(store, [], bytesMax, notes([outcome('b', 'xx')], 2_000)), 'committed');
      assert.equal(await store.bytes(ORDERS), bytesMax);
    },
  ),
  storeCase('[STORE-82] uploads without end meet the quota, and find room again later', async ({ store }) => {
    const userBytesMax = 30_000;
    const { tidemark, clock } = await newTidemark({ store, limits: { userBytesMax } });
    const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
    const partition = userPartition('Order', 'ada');
    await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { mine: { n: 0 } } });
    let earlier: readonly string[] = [];
    let count = 0;
    const upload = async (): Promise<boolean> => {
      const id = `${++count}`.padEnd(512, '-');
      const changes = [
        { op_id: `create ${count}`, source: 'Order', op: 'create', id, attributes: { a: 1 } },
        { op_id: `update ${count}`, source: 'Order', op: 'update', id: 'mine', attributes: { n: count } },
        { op_id: `delete ${count}`, source: 'Order', op: 'delete', id },
        { op_id: `invalid ${count}`, source: 'Order', op: 'update', id: 'mine', attributes: {} },
      ] as const;
      const acknowledged = new Map([['Order', earlier]]);
      const outcomes = await tidemark.devices.push(device, { changes, acknowledged });
      earlier = changes.map(({ op_id }) => op_id);
      assert.equal(outcomes[2]?.status, 'applied');
      return outcomes[0]?.status === 'applied';
    };
    while (count < 100 && (await upload())) clock.advance(1);
    assert.ok(count > 5 && count < 40, `${count} uploads`);
    const full = await store.bytes(partition);
    assert.ok(full < userBytesMax + 3_000, `${full} bytes`);
    for (let more = 0; more < 20; more++) assert.equal(await upload(), false);
    assert.equal(await store.bytes(partition), full);
    clock.advance(SETTLED_KEPT_MS + 1);
    await trimFully(store, partition, (await store.partition(partition)).head);
    // Each call deletes a bounded number of the notes that have expired.
    for (let more = 0; more < 3; more++) await upload();
    assert.equal(await upload(), true);
  }),
];
