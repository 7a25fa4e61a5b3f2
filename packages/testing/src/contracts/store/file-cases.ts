import assert from 'node:assert/strict';
import { type Finding, groupPartition, type PartitionKey, type Store, userPartition } from '@tidemark/core';
import { hashOf, put, putFiles, readRecord, remove } from './change.ts';
import { populateStore } from './populate-store.ts';
import { assertPaging, committed, ORDERS, trimFully } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

/** Cases about the index of the files that objects refer to. */
export const fileCases: readonly StoreCase[] = [
  storeCase('[STORE-84] a commit changes the files of its objects in the same step', async ({ store }) => {
    assert.deepEqual(await index(store), {});
    await committed(store, [putFiles('1', 'ab'), put('2'), putFiles('3', 'b')]);
    assert.deepEqual(await index(store), { a: ['1'], b: ['1', '3'] });
    await committed(store, [putFiles('1', 'bc'), putFiles('2', 'c')]);
    assert.deepEqual(await index(store), { b: ['1', '3'], c: ['1', '2'] });
    await committed(store, [put('1'), remove('3')]);
    assert.deepEqual(await index(store), { c: ['2'] });
    await committed(store, [remove('2'), putFiles('3', 'd')]);
    assert.deepEqual(await index(store), { d: ['3'] });
    await committed(store, [remove('3')]);
    assert.deepEqual(await index(store), {});
  }),
  storeCase('[STORE-84] a commit that is refused changes no files', async ({ store }) => {
    await committed(store, [putFiles('1', 'a')]);
    const stale = await store.commit({
      partition: ORDERS,
      changes: [{ ...putFiles('1', 'b'), expect: 7 }, putFiles('2', 'c')],
      guards: [],
    });
    assert.equal(stale.status, 'conflict');
    const guards = [{ kind: 'source', key: ['unknown'] }] as const;
    const gone = await store.commit({ partition: ORDERS, changes: [putFiles('1', 'b')], guards });
    assert.equal(gone.status, 'gone');
    assert.deepEqual(await index(store), { a: ['1'] });
  }),
  storeCase(
    '[STORE-84] an object that is deleted twice, trimmed and made again has its new files',
    async ({ store }) => {
      await committed(store, [putFiles('1', 'a'), putFiles('2', 'a')]);
      await committed(store, [remove('1')]);
      await committed(store, [remove('1'), remove('unknown')]);
      await trimFully(store, ORDERS, 3);
      assert.deepEqual(await index(store), { a: ['2'] });
      await committed(store, [putFiles('1', 'b')]);
      assert.deepEqual(await index(store), { a: ['2'], b: ['1'] });
    },
  ),
  storeCase('[STORE-84] files are listed in pages, and objects of a file up to a limit', async ({ store }) => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    await committed(
      store,
      names.flatMap((name) => [putFiles(`${name}1`, `${name}z`), putFiles(`${name}2`, name)]),
    );
    const all = [...names, 'z'].map(hashOf);
    await assertPaging(all, (after, limit) =>
      store.listFiles(ORDERS, after === undefined ? { limit } : { after, limit }),
    );
    assert.equal((await store.objectsWithFile(ORDERS, hashOf('z'), 4)).length, 4);
    assert.equal((await store.objectsWithFile(ORDERS, hashOf('z'), 100)).length, 9);
    assert.deepEqual(await store.objectsWithFile(ORDERS, hashOf('y'), 100), []);
  }),
  storeCase('[STORE-84] awkward ids keep their files apart', async ({ store }) => {
    const ids = ['', 'a', 'é', '\u{10FFFF}', '\u{1F600}', '~', hashOf('a')].map((id) => `x${id}`);
    await committed(
      store,
      ids.map((id) => putFiles(id, 'ab')),
    );
    assert.deepEqual(await index(store), { a: [...ids].sort(), b: [...ids].sort() });
    await committed(
      store,
      ids.slice(1).map((id) => putFiles(id, 'b')),
    );
    assert.deepEqual(await index(store), { a: ['x'], b: [...ids].sort() });
  }),
  storeCase('[STORE-85] partitions have files of their own, which an erasure and a reset delete', async ({ store }) => {
    const bob = userPartition('Order', 'bob');
    const group = groupPartition('Part', 'north');
    for (const partition of [ORDERS, bob, group]) await committed(store, [putFiles('1', 'a')], { partition });
    await committed(store, [remove('1')], { partition: ORDERS });
    assert.deepEqual(await Promise.all([ORDERS, bob, group].map((key) => index(store, key))), [
      {},
      { a: ['1'] },
      { a: ['1'] },
    ]);
    await store.writeEntries({ writes: [], guards: [], erase: { users: ['bob'], sources: ['Part'] } });
    for (const partition of [bob, group]) assert.deepEqual(await index(store, partition), {});
    await committed(store, [put('2')], { partition: bob });
    assert.deepEqual(await index(store, bob), {});
    await committed(store, [putFiles('1', 'a')]);
    await store.reset([]);
    assert.deepEqual(await index(store), {});
    await committed(store, [put('1')]);
    assert.deepEqual(await index(store), {});
    assert.deepEqual(await findings(store), []);
  }),
  storeCase('[STORE-86] verify compares the files in the index with those of the records', async ({ store }) => {
    await populateStore(store);
    await committed(store, [putFiles('1', 'ab'), putFiles('2', 'a'), put('3')]);
    await committed(store, [putFiles('1', 'b'), remove('2')]);
    assert.deepEqual(await findings(store), []);
    const honest = putFiles('1', 'ab');
    for (const files of [[hashOf('a')], [hashOf('a'), hashOf('c')], undefined]) {
      const { files: _files, ...change } = honest;
      await committed(store, [files === undefined ? change : { ...change, files }]);
      const found = await findings(store);
      assert.ok(found.length > 0);
      for (const { problem, partition } of found) assert.deepEqual([problem, partition], ['wrong_files', ORDERS]);
    }
    await committed(store, [{ ...put('1'), files: [hashOf('a')] }]);
    assert.ok((await findings(store)).some(({ problem }) => problem === 'wrong_files'));
    await committed(store, [put('1')]);
    assert.deepEqual(await findings(store), []);
  }),
];

/** The files of a partition by the character that names them, with the ids of their objects. */
async function index(store: Store, key: PartitionKey = ORDERS): Promise<Record<string, readonly string[]>> {
  const found: Record<string, readonly string[]> = {};
  for (const sha256 of await store.listFiles(key, { limit: 1_000 })) {
    const ids = await store.objectsWithFile(key, sha256, 1_000);
    found[Buffer.from(sha256.slice(0, 2), 'hex').toString()] = [...ids].sort();
  }
  return found;
}

async function findings(store: Store): Promise<Finding[]> {
  const all: Finding[] = [];
  for await (const finding of store.verify(readRecord)) all.push(finding);
  return all;
}
