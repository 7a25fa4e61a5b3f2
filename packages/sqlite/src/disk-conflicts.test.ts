import type { Device, LocalWrite } from '@tidemark/client';
import type { TestDeviceOptions, TestServer } from '@tidemark/client-testing';
import { expect, it } from 'vitest';
import { openOnDisk, openServer, openWatchedStore, parts, type WatchedStore } from './testing/disk-fixture.ts';

const MANY = 1_500;

/** A device with an edit of `p00001` that somebody else has changed meanwhile. */
async function conflicting(store: WatchedStore, options: TestDeviceOptions = {}): Promise<[TestServer, Device]> {
  const server = await openServer({ sources: [{ name: 'Part', conflicts: 'detect' }] });
  await server.push('Part', parts(MANY), { user: 'ada' });
  const device = await openOnDisk(server, store, { user: 'ada', ...options });
  await device.sync();
  server.network.goOffline();
  await device.source('Part').update('p00001', { n: -1, note: 'mine' });
  await server.push('Part', { p00001: { n: 50 } }, { user: 'ada' });
  server.network.goOnline();
  await device.sync();
  await device.sync();
  return [server, device];
}

it('[DISK-12] only the attributes in conflict of an object on the disk are rolled back, and a merge function solves the conflict', async () => {
  const [server, device] = await conflicting(await openWatchedStore());
  const [problem] = device.problems.list();
  expect(problem).toMatchObject({ status: 'conflict', attributes: { n: -1 }, current: { n: 50 } });
  expect((await device.source('Part').fetch('p00001'))?.attributes).toEqual({ n: 50, note: 'mine' });
  expect((await server.objects('Part', { user: 'ada' })).p00001).toEqual({ n: 50, note: 'mine' });
  const merge = { Part: ({ mine, theirs }: { mine: object | null; theirs: object | null }) => ({ n: [mine, theirs] }) };
  const [other, merging] = await conflicting(await openWatchedStore(), { merge } as TestDeviceOptions);
  await merging.sync();
  const merged = { n: [{ n: -1 }, { n: 50 }], note: 'mine' };
  expect(merging.problems.list()).toEqual([]);
  expect((await other.objects('Part', { user: 'ada' })).p00001).toEqual(merged);
});

it('[DISK-12] a conflict is resolved with the object that the disk has, although it has left the memory meanwhile', async () => {
  const store = await openWatchedStore();
  const [server, device] = await conflicting(store);
  const source = device.source('Part');
  const [problem] = device.problems.list();
  const { commit } = store;
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  store.commit = async (writes: readonly LocalWrite[], options) => {
    await released;
    return commit(writes, options);
  };
  server.network.goOffline();
  const before = source.create({ n: 0 });
  const resolved = device.problems.resolve(problem?.opId ?? '', { n: 7 });
  for (const id of Object.keys(parts(MANY - 100, 100))) await source.fetch(id);
  const isGone = source.get('p00001') === undefined;
  release();
  await Promise.all([before, resolved]);
  expect(isGone).toBe(true);
  const made = device.uploads.list().map(({ op, id, attributes }) => [op, id, attributes]);
  expect(made).toContainEqual(['update', 'p00001', { n: 7 }]);
});

it('[DISK-12] a conflict of before a restart is merged with the object that the disk has', async () => {
  const store = await openWatchedStore();
  const [server, before] = await conflicting(store);
  await before.close();
  const merge = { Part: ({ mine, theirs }: { mine: object | null; theirs: object | null }) => ({ n: [mine, theirs] }) };
  const device = await openOnDisk(server, store, { merge } as TestDeviceOptions);
  await server.push('Part', { other: { n: 1 } }, { user: 'ada' });
  await device.sync();
  await expect.poll(() => device.uploads.list(), { timeout: 60_000 }).toEqual([]);
  const merged = { n: [{ n: -1 }, { n: 50, note: 'mine' }], note: 'mine' };
  await expect
    .poll(async () => (await server.objects('Part', { user: 'ada' })).p00001, { timeout: 60_000 })
    .toEqual(merged);
  expect(device.problems.list()).toEqual([]);
});
