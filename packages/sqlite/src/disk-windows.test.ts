import type { LocalWrite } from '@tidemark/client';
import { Rng, seededRandom, type TestServer } from '@tidemark/client-testing';
import { expect, it } from 'vitest';
import { idsOf, openOnDisk, openServer, openWatchedStore, parts, type WatchedStore } from './testing/disk-fixture.ts';

const SOURCES = ['InMemory', 'OnDisk'] as const;
const WINDOWS = [
  ...[0, 20, 40, 97].map((offset) => ({ orderBy: 'n', limit: 5, offset }) as const),
  { orderBy: { n: 'desc' }, limit: 4, offset: 30 } as const,
];

it.each([1, 2])(
  '[DISK-3] windows in the middle of a long order give what they give in memory (seed %i)',
  async (seed) => {
    const rng = new Rng(seededRandom(seed));
    const server = await openServer({ sources: SOURCES.map((name) => ({ name })) });
    const device = await openOnDisk(server, await openWatchedStore(), { user: 'ada' }, ['OnDisk']);
    for (const name of SOURCES) await server.push(name, parts(100), { user: 'ada' });
    await device.sync();
    const windows = WINDOWS.map((options) => SOURCES.map((name) => device.source<{ n: number }>(name).query(options)));
    for (const query of windows.flat()) query.subscribe(() => undefined);
    for (let step = 0; step < 40; step++) {
      const [id = ''] = Object.keys(parts(1, rng.below(110)));
      const n = rng.below(60) + 0.5;
      const kind = rng.pick(['push', 'remove', 'write', 'write', 'delete', 'offline', 'online']);
      for (const name of SOURCES) {
        const source = device.source<{ n: number }>(name);
        const known = await source.fetch(id);
        if (kind === 'push') await server.push(name, { [id]: { n } }, { user: 'ada' });
        if (kind === 'remove') await server.remove(name, [id], { user: 'ada' });
        if (kind === 'write' && known !== undefined) await source.update(id, { n });
        if (kind === 'write' && known === undefined) await source.create({ n }, { id });
        if (kind === 'delete' && known !== undefined) await source.delete(id);
      }
      if (kind === 'offline') server.network.goOffline();
      if (kind === 'online') server.network.goOnline();
      if (server.network.hints.isOnline()) await device.sync();
      for (const [at, [memory, disk]] of windows.entries()) {
        await disk?.fetch();
        const message = `seed ${seed}, step ${step}: ${JSON.stringify(WINDOWS[at])}`;
        expect(idsOf(disk?.getSnapshot() ?? []), message).toEqual(idsOf(memory?.getSnapshot() ?? []));
      }
    }
  },
);

it('[DISK-7] an object of several groups shows what the first of those has that are left', async () => {
  const groups = { a: ['ada'], b: ['ada'], c: ['ada'] };
  const server = await openServer({ sources: [{ name: 'Part', partition_type: 'group' }], groups });
  for (const [n, group] of ['a', 'b', 'c'].entries()) await server.push('Part', { one: { n } }, { group });
  const device = await openOnDisk(server, await openWatchedStore());
  await device.sync();
  expect(await device.source('Part').fetch('one')).toMatchObject({ attributes: { n: 0 }, groups: ['a', 'b', 'c'] });
  await server.setGroups('ada', ['b', 'c']);
  await device.sync();
  expect(await device.source('Part').fetch('one')).toMatchObject({ attributes: { n: 1 }, groups: ['b', 'c'] });
});

/** Lets a source start over, and ends the device when a part of it has come again. */
async function stopWhileStartingOver(server: TestServer, store: WatchedStore): Promise<void> {
  const device = await openOnDisk(server, store, { user: 'ada', pageObjects: 100 });
  await device.sync();
  server.network.goOffline();
  await device.startOver();
  const { commit } = store;
  const isStopped = new Promise<void>((resolve) => {
    let aside = 0;
    store.commit = async (writes: readonly LocalWrite[], options) => {
      if (writes.some(({ table, key }) => table === 'objects' && key[0].startsWith('Part\u001f'))) aside++;
      if (aside > 2) {
        resolve();
        throw new Error('the device has stopped');
      }
      await commit(writes, options);
    };
  });
  server.network.goOnline();
  await isStopped;
  server.network.goOffline();
  await device.close();
  store.commit = commit;
}

it('[DISK-6] a source that starts over goes on after a restart where it was', async () => {
  const server = await openServer();
  await server.push('Part', parts(600), { user: 'ada' });
  const store = await openWatchedStore();
  await stopWhileStartingOver(server, store);
  const device = await openOnDisk(server, store, { pageObjects: 100 });
  expect((await device.source('Part').query().fetch()).length).toBe(600);
  server.network.goOnline();
  await device.sync();
  expect((await device.source('Part').query().fetch()).length).toBe(600);
  expect(device.status.getSnapshot().heals).toBe(0);
});

it('[DISK-5] a source that moves to memory in the middle of starting over has everything in the end', async () => {
  const server = await openServer();
  await server.push('Part', parts(600), { user: 'ada' });
  const store = await openWatchedStore();
  await stopWhileStartingOver(server, store);
  await server.push('Part', { p00000: { n: -1 }, new: { n: 1_000 } }, { user: 'ada' });
  await server.remove('Part', ['p00001'], { user: 'ada' });
  const device = await server.openDevice({ store, pageObjects: 100 });
  const source = device.source('Part', { keep: 'memory' });
  await source.query().fetch();
  expect(source.list().length).toBe(600);
  server.network.goOnline();
  await device.sync();
  const { p00001: _, ...others } = parts(600);
  const wanted = { ...others, p00000: { n: -1 }, new: { n: 1_000 } };
  expect(Object.fromEntries(source.list().map(({ id, attributes }) => [id, attributes]))).toEqual(wanted);
  expect(device.status.getSnapshot().heals).toBe(0);
  await device.close();
  const again = await server.openDevice({ store });
  expect(again.source('Part').list().length).toBe(600);
});
