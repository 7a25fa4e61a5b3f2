import assert from 'node:assert/strict';
import {
  type Commit,
  type CommitResult,
  ownerText,
  type PartitionState,
  type Store,
  userPartition,
} from '@tidemark/core';
import { put, recordOf } from './change.ts';
import { populateStore } from './populate-store.ts';
import { committed, ORDERS, WHOLE, wholeJournal } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const WRITERS = Array.from({ length: 64 }, (_, number) => number);
const GROUP = Array.from({ length: 100 }, (_, number) => `member ${number}`);

/** Cases about concurrent callers: every write is atomic. */
export const concurrencyCases: readonly StoreCase[] = [
  storeCase('[STORE-3] 64 concurrent commits take 64 seqs, and each returns its own head', async ({ store }) => {
    const states = await Promise.all(WRITERS.map((number) => committed(store, [put(`${number}`), put('common')])));
    assert.deepEqual(new Set(states.map(({ head }) => head)), new Set(WRITERS.map((number) => 2 * number + 2)));
    assert.equal(new Set(states.map(({ epoch }) => epoch)).size, 1);
    const { state, records } = await wholeJournal(store, ORDERS);
    assert.deepEqual([state.head, state.size, records.length], [128, 65, 65]);
    const last = states.find(({ head }) => head === 128);
    assert.deepEqual(state, last);
  }),
  storeCase('[STORE-3] of 64 commits with the same expectation, one is applied', async ({ store }) => {
    await committed(store, [put('1')]);
    const commitAll = (commit: (number: number) => Partial<Commit>) =>
      Promise.all(
        WRITERS.map((number) => store.commit({ partition: ORDERS, changes: [], guards: [], ...commit(number) })),
      );
    assertOneWinner(await commitAll((n) => ({ changes: [put(`own ${n}`), put('common', `${n}`, 0)] })));
    assertOneWinner(await commitAll((n) => ({ changes: [put(`mine ${n}`), put('1', `${n}`, 1)] })));
    assertOneWinner(await commitAll((n) => ({ changes: [put(`late ${n}`)], expectHead: 5 })));
    const { head, size } = await store.partition(ORDERS);
    assert.deepEqual([head, size], [6, 5]);
  }),
  storeCase('[STORE-3] writers with expectations and retries lose no update', async ({ store }) => {
    await committed(store, [put('count', '0')]);
    await Promise.all(Array.from({ length: 8 }, () => countUp(store, 8)));
    const { objects, state } = await store.readObjects(ORDERS, ['count']);
    assert.equal(objects.get('count')?.record, recordOf('count', '64'));
    assert.deepEqual([state.head, state.size], [65, 1]);
  }),
  storeCase('[STORE-3] concurrent commits to many partitions do not affect each other', async ({ store }) => {
    const users = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const partition = (number: number) => userPartition('Order', users[number % 8] ?? assert.fail());
    await Promise.all(WRITERS.map((number) => committed(store, [put(`${number}`)], { partition: partition(number) })));
    for (const [index, user] of users.entries()) {
      const { state, records } = await wholeJournal(store, userPartition('Order', user));
      assert.deepEqual([state.head, state.size], [8, 8]);
      const mine = WRITERS.filter((number) => number % 8 === index).map((number) => recordOf(`${number}`, 'v'));
      assert.deepEqual(new Set(records), new Set(mine));
    }
  }),
  storeCase('[STORE-3] of 64 concurrent creations of an entry or a document, one succeeds', async ({ store }) => {
    const ann = { kind: 'user', key: ['ann'], expect: 0 } as const;
    const entries = await Promise.all(
      WRITERS.map((number) => store.writeEntries({ writes: [{ ...ann, value: `${number}` }], guards: [] })),
    );
    assertOneWinner(entries, 'written');
    assert.equal((await store.readEntry(ann))?.value, `${entries.findIndex(({ status }) => status === 'written')}`);
    const key = { scope: { kind: 'server' }, name: 'note' } as const;
    const write = { key, type: 'text', replace: true, expect: 0, guards: [] } as const;
    const documents = await Promise.all(
      WRITERS.map((number) => store.writeDocument({ ...write, parts: new Map([['0', `${number}`]]) })),
    );
    assertOneWinner(documents, 'written');
    const winner = documents.findIndex(({ status }) => status === 'written');
    assert.equal((await store.readDocument(key))?.parts.get('0'), `${winner}`);
  }),
  storeCase('[STORE-3] all concurrently added parts are stored', async ({ store }) => {
    const key = { scope: { kind: 'server' }, name: 'note' } as const;
    const write = { key, type: 'objects', replace: false, guards: [] } as const;
    await Promise.all(WRITERS.map((n) => store.writeDocument({ ...write, parts: new Map([[`${n}`, `<${n}>`]]) })));
    const document = (await store.readDocument(key)) ?? assert.fail();
    assert.deepEqual(document.parts, new Map(WRITERS.map((number) => [`${number}`, `<${number}>`])));
    assert.deepEqual([document.partCount, document.units], [64, 246]);
  }),
  storeCase('[STORE-3] a user who is erased during writes leaves nothing behind', async ({ store }) => {
    await populateStore(store);
    const ann = { kind: 'user', key: ['ann'] } as const;
    const write = (number: number) =>
      number === 32
        ? store.writeEntries({ writes: [{ ...ann, value: null }], guards: [ann], erase: { users: ['ann'] } })
        : store.commit({ partition: ORDERS, changes: [put(`${number}`)], guards: [ann] });
    const results = await Promise.all(WRITERS.map(write));
    assert.deepEqual(results[32], { status: 'written' });
    for (const result of results) if (result.status === 'gone') assert.deepEqual(result.guard, ann);
    assert.equal((await store.partition(ORDERS)).head, 0);
    const left = await store.partitions({ limit: 100 });
    assert.deepEqual(
      left.filter(({ owner }) => ownerText(owner) === 'ann'),
      [],
    );
  }),
  storeCase('[STORE-4] a read sees every write that resolved before it', async ({ store }) => {
    const ann = { kind: 'user', key: ['ann'] } as const;
    for (let round = 1; round <= 20; round++) {
      const state = await committed(store, [put('1', `${round}`)]);
      assert.deepEqual(await store.partition(ORDERS), state);
      assert.equal((await wholeJournal(store, ORDERS)).records[0], recordOf('1', `${round}`));
      await store.writeEntries({ writes: [{ ...ann, value: `${round}` }], guards: [] });
      assert.equal((await store.readEntry(ann))?.value, `${round}`);
      await store.addStats([{ metric: 'm', atS: 60, count: 1, sum: 1, min: 1, max: 1 }]);
      assert.equal((await store.readStats('m', 'newest', 1))[0]?.count, round);
    }
  }),
  storeCase('[STORE-5] readers see whole commits with the matching state', async ({ store }) => {
    await rewriteGroup(store, 0, 0);
    const reading = Promise.all([readGroup(store, 60), readGroup(store, 60), readGroup(store, 60)]);
    const [reads] = await Promise.all([reading, rewriteGroup(store, 1, 30)]);
    for (const { state, records } of reads.flat()) {
      const round = state.head / GROUP.length - 1;
      const expected = GROUP.map((id) => recordOf(id, `${round}`));
      assert.deepEqual(records, expected);
    }
  }),
];

/** Writes the same round to every object of the group, one commit after the other. */
async function rewriteGroup(store: Store, first: number, last: number): Promise<void> {
  for (let round = first; round <= last; round++) {
    const changes = GROUP.map((id) => put(id, `${round}`));
    await committed(store, changes);
  }
}

interface GroupRead {
  readonly state: PartitionState;
  readonly records: readonly (string | null)[];
}

/** Reads the group repeatedly, as a journal, as joined records and as objects. */
async function readGroup(store: Store, times: number): Promise<GroupRead[]> {
  const reads: GroupRead[] = [];
  for (let read = 0; read < times; read += 3) {
    const { state, records } = await wholeJournal(store, ORDERS);
    const joined = await store.readJoined(ORDERS, WHOLE);
    const { state: objectsState, objects } = await store.readObjects(ORDERS, GROUP);
    reads.push({ state, records });
    reads.push({ state: joined.state, records: membersOf(joined.records) });
    reads.push({ state: objectsState, records: GROUP.map((id) => objects.get(id)?.record ?? null) });
  }
  return reads;
}

/** The records of the group, taken apart again. */
function membersOf(records: Uint8Array): string[] {
  const texts = JSON.parse(`[${new TextDecoder().decode(records)}]`) as unknown[];
  return texts.map((text) => JSON.stringify(text));
}

/** Increments a counter several times by reading and expecting, and retries until each increment succeeded. */
async function countUp(store: Store, times: number): Promise<void> {
  let done = 0;
  for (let attempts = 0; done < times; attempts++) {
    assert.ok(attempts < 10_000, 'a writer never came to its turn');
    const { objects } = await store.readObjects(ORDERS, ['count']);
    const { seq, record } = objects.get('count') ?? assert.fail();
    const [, count] = JSON.parse(record ?? '') as [string, string];
    const changes = [put('count', `${Number(count) + 1}`, seq)];
    const { status } = await store.commit({ partition: ORDERS, changes, guards: [] });
    if (status === 'committed') done += 1;
  }
}

function assertOneWinner(
  results: readonly { status: string }[],
  success: CommitResult['status'] | 'written' = 'committed',
): void {
  const losers = results.filter(({ status }) => status === 'conflict');
  const winners = results.filter(({ status }) => status === success);
  assert.deepEqual([winners.length, losers.length], [1, results.length - 1]);
}
