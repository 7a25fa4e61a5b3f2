import type { Change, PartitionState, Store } from '@tidemark/core';
import { sharedPartition } from '@tidemark/core';
import { temporaryFolder } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from './open-store.ts';

const partition = sharedPartition('s');
const born = (id: string): Change => ({ id, record: `"${id}":{"a":1}`, checksum: 1, expect: 0 });

async function openStore(): Promise<Store> {
  const folder = await temporaryFolder();
  const store = await openEmbeddedStore({ folder: folder.path });
  onTestFinished(async () => {
    await store.close();
    await folder.remove();
  });
  return store;
}

async function commit(store: Store, changes: Change[], seen?: PartitionState) {
  return store.commit({ partition, changes, guards: [], ...(seen === undefined ? {} : { seen }) });
}

describe('commits that name the state they saw', () => {
  it('[EMB-7] a commit skips its checks only while the partition is still in the state it names', async () => {
    const store = await openStore();
    const empty = await store.partition(partition);
    expect(await commit(store, [born('1')], empty)).toMatchObject({ status: 'committed', state: { size: 1 } });
    // Another commit came first, so the objects are checked.
    expect(await commit(store, [born('2'), born('1')], empty)).toEqual({ status: 'conflict' });
    const one = await store.partition(partition);
    expect(await commit(store, [born('2')], one)).toMatchObject({
      status: 'committed',
      state: { size: 2, checksum: 2 },
    });
    expect(await commit(store, [born('2')], { ...one, epoch: 'other' })).toEqual({ status: 'conflict' });
    const two = await store.partition(partition);
    const change: Change = { id: '1', record: '"1":{"a":2}', checksum: 5, expect: 1 };
    expect(await commit(store, [change], two)).toMatchObject({ status: 'committed', state: { size: 2, checksum: 6 } });
    expect(await commit(store, [change], await store.partition(partition))).toEqual({ status: 'conflict' });
  });
});

it('[EMB-11] a read that follows the news of a commit by another process sees that commit', async () => {
  const folder = await temporaryFolder();
  const [one, other] = [
    await openEmbeddedStore({ folder: folder.path }),
    await openEmbeddedStore({ folder: folder.path }),
  ];
  onTestFinished(async () => {
    await one.close();
    await other.close();
    await folder.remove();
  });
  for (let round = 1; round <= 200; round++) {
    // A read right before the commit, whose state must not be used afterwards.
    expect((await other.partition(partition)).head).toBe(round - 1);
    await commit(one, [born(`${round}`)]);
    expect((await other.partition(partition)).head).toBe(round);
  }
});
