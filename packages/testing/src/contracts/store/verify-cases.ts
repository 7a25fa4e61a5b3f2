import assert from 'node:assert/strict';
import { Rng, seededRandom } from '@tidemark/client-testing';
import type { Finding, RecordReader, Store } from '@tidemark/core';
import { textChecksum } from '@tidemark/protocol';
import { put, readRecord, remove } from './change.ts';
import { populateStore } from './populate-store.ts';
import { committed, ORDERS, trimFully } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

/** Cases about verify. */
export const verifyCases: readonly StoreCase[] = [
  storeCase('[STORE-60] verify finds nothing in a healthy store', async ({ store }) => {
    assert.deepEqual(await findings(store), []);
    await populateStore(store);
    assert.deepEqual(await findings(store), []);
    await comeAndGo(store, 40);
    assert.deepEqual(await findings(store), []);
    await trimFully(store, ORDERS, 60);
    assert.deepEqual(await findings(store), []);
    const erase = { users: ['bob'], clients: ['c1'], sources: ['Part'] };
    await store.writeEntries({ writes: [], guards: [], erase });
    assert.deepEqual(await findings(store), []);
    await store.reset([]);
    assert.deepEqual(await findings(store), []);
  }),
  storeCase('[STORE-60] verify finds nothing during writes', async ({ store }) => {
    await populateStore(store);
    const work = comeAndGo(store, 40);
    const found: Finding[] = [];
    for (let round = 0; round < 5; round++) found.push(...(await findings(store)));
    await work;
    assert.deepEqual(found, []);
  }),
  storeCase('[STORE-60] verify reads every live record', async ({ store }) => {
    await populateStore(store);
    const read: string[] = [];
    const reader: RecordReader = (record) => {
      read.push(record);
      return readRecord(record);
    };
    assert.deepEqual(await findings(store, reader), []);
    const expected = new Set<string>();
    for (const key of await store.partitions({ limit: 100 })) {
      for (const { record } of (await store.readObjects(key, ['kept', 'moved'])).objects.values()) {
        expected.add(record ?? assert.fail());
      }
    }
    assert.deepEqual(new Set(read), expected);
  }),
  storeCase('[STORE-61] verify names a record that cannot be read', async ({ store }) => {
    await populateStore(store);
    await committed(store, [{ id: 'broken', record: 'broken', checksum: 1 }]);
    await assertFinding(store, 'unreadable');
  }),
  storeCase('[STORE-61] verify names a record whose checksum differs from the stored one', async ({ store }) => {
    await populateStore(store);
    const honest = put('lying');
    await committed(store, [{ ...honest, checksum: honest.checksum === 1 ? 2 : 1 }]);
    await assertFinding(store, 'wrong_object_checksum');
    await assertFinding(store, 'wrong_checksum');
    await committed(store, [remove('lying')]);
    assert.deepEqual(await findings(store), []);
  }),
  storeCase('[STORE-61] verify names a record that is stored under another id', async ({ store }) => {
    await populateStore(store);
    const { record, checksum } = put('somebody else');
    assert.equal(checksum, textChecksum(record ?? ''));
    await committed(store, [{ id: 'new', record, checksum }]);
    await assertFinding(store, null);
  }),
];

async function findings(store: Store, reader: RecordReader = readRecord): Promise<Finding[]> {
  const all: Finding[] = [];
  for await (const finding of store.verify(reader)) all.push(finding);
  return all;
}

/** Checks that all findings are about the manipulated partition, and that the expected problem is among them. */
async function assertFinding(store: Store, problem: Finding['problem'] | null): Promise<void> {
  const all = await findings(store);
  assert.notEqual(all.length, 0);
  for (const { partition } of all) assert.deepEqual(partition, ORDERS);
  if (problem !== null)
    assert.ok(
      all.some((finding) => finding.problem === problem),
      JSON.stringify(all),
    );
}

async function comeAndGo(store: Store, commits: number): Promise<void> {
  const rng = new Rng(seededRandom(60));
  for (let round = 0; round < commits; round++) {
    const ids = rng.shuffle(['1', '2', '3', '4', '5', '6']).slice(0, 3);
    await committed(
      store,
      ids.map((id) => (rng.chance(40) ? remove(id) : put(id, `${round}`))),
    );
  }
}
