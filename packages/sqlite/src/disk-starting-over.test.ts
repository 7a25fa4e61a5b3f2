import { openDevice, type SyncedObject } from '@tidemark/client';
import { expect, it, onTestFinished } from 'vitest';
import { idsOf, openOnDisk, openServer, openWatchedStore, parts } from './testing/disk-fixture.ts';

it('[DISK-6] objects that are in memory, and changes of them made here, are still there after a source has started over in one page', async () => {
  const server = await openServer();
  await server.push('Part', parts(20), { user: 'ada' });
  const device = await openOnDisk(server, await openWatchedStore());
  await device.sync();
  const source = device.source('Part');
  await source.fetch('p00003');
  server.network.goOffline();
  await source.update('p00004', { note: 1 });
  await device.startOver();
  server.network.goOnline();
  await device.sync();
  expect(source.get('p00003')?.attributes).toEqual({ n: 3 });
  expect((await source.fetch('p00004'))?.attributes).toEqual({ n: 4, note: 1 });
});

it('[DISK-6] the total of a query is counted again when a source has started over', async () => {
  const server = await openServer();
  await server.push('Part', parts(300), { user: 'ada' });
  const device = await openOnDisk(server, await openWatchedStore(), { user: 'ada', pageObjects: 100 });
  await device.sync();
  const query = device.source('Part').query({ orderBy: 'n', limit: 3 });
  query.subscribe(() => undefined);
  query.count();
  await query.fetch();
  expect(query.count()).toBe(300);
  server.network.goOffline();
  await server.push('Part', parts(100, 300), { user: 'ada' });
  await device.startOver();
  server.network.goOnline();
  await device.sync();
  await query.fetch();
  query.count();
  await query.fetch();
  expect(query.count()).toBe(400);
});

it('[DISK-6] a first sync that shows the source whole tells queries no part of it, and then how many objects match', async () => {
  const server = await openServer();
  await server.push('Part', parts(300), { user: 'ada' });
  server.network.goOffline();
  const device = await openOnDisk(server, await openWatchedStore(), { pageObjects: 100 });
  const query = device.source('Part').query({ orderBy: 'n', limit: 3 });
  const seen: (readonly [readonly string[], boolean])[] = [];
  query.subscribe(() => seen.push([idsOf(query.getSnapshot()), query.isLoading]));
  const totals: number[] = [];
  query.total.subscribe(() => totals.push(query.count()));
  await query.fetch();
  server.network.goOnline();
  await device.signIn({ login: 'ada', password: server.password });
  await device.sync();
  await query.fetch();
  const whole = ['p00000', 'p00001', 'p00002'];
  for (const [ids] of seen) expect([[], whole]).toContainEqual(ids);
  for (const total of totals) expect([0, 300]).toContain(total);
  expect(seen.at(-1)).toEqual([whole, false]);
  expect([idsOf(query.getSnapshot()), query.count(), query.isLoading]).toEqual([whole, 300, false]);
});

it('[DISK-6] a catch-up that was interrupted can start over after a restart, although what it refers to is not in memory', async () => {
  const server = await openServer();
  await server.push('Part', parts(30), { user: 'ada' });
  const store = await openWatchedStore();
  let device = await openOnDisk(server, store, { user: 'ada', pageObjects: 5 });
  await device.sync();
  server.network.goOffline();
  await server.push('Part', Object.fromEntries(Object.keys(parts(30)).map((id) => [id, { note: 'x' }])), {
    user: 'ada',
  });
  const close = new Promise<void>((resolve) => {
    const commit = store.commit;
    let staged = 0;
    store.commit = async (writes, options) => {
      if (staged > 1) throw new Error('dead');
      await commit(writes, options);
      if (writes.some(({ table }) => table === 'staged') && ++staged > 1) {
        store.commit = commit;
        server.network.goOffline();
        resolve();
      }
    };
  });
  server.network.goOnline();
  device.sync().catch(() => undefined);
  await close;
  await device.close();
  const rows = await store.load();
  const row = rows.find(({ table, key }) => table === 'sources' && key[1] === 'Part');
  const value = row?.value as { staging: object };
  await store.commit([
    {
      table: 'sources',
      key: ['', 'Part'],
      value: { ...value, staging: { ...value.staging, token: 'bogus' } } as never,
    },
  ]);
  device = await openOnDisk(server, store, { pageObjects: 5 });
  server.network.goOnline();
  await device.sync();
  expect(
    (
      await device
        .source('Part')
        .query({ where: { note: 'x' } })
        .fetch()
    ).length,
  ).toBe(30);
});

it('[DISK-6] an answer with a wrong checksum takes nothing away that is shown', async () => {
  const server = await openServer();
  await server.push('Part', parts(20), { user: 'ada' });
  let isWrong = false;
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const answer = await server.platform.fetch(url as never, init as never);
    if (!isWrong || !String(url).endsWith('/pull')) return answer as never;
    const body = (await answer.json()) as { sources: Record<string, { checksum?: number }> };
    for (const page of Object.values(body.sources)) if (page.checksum !== undefined) page.checksum ^= 1;
    return new Response(JSON.stringify(body), {
      status: 200,
      headers: { 'content-type': 'application/json' },
    }) as never;
  };
  const device = await openDevice({
    url: server.url,
    store: await openWatchedStore(),
    platform: { ...server.platform, fetch } as never,
  });
  onTestFinished(() => device.close());
  await device.signIn({ login: 'ada', password: server.password });
  device.source('Part', { keep: 'disk', indexes: ['n'] });
  await device.sync();
  const query = device.source('Part').query({ orderBy: 'n', limit: 3 });
  const seen: string[] = [];
  query.subscribe(() => seen.push(idsOf(query.getSnapshot()).join()));
  await query.fetch();
  isWrong = true;
  device.goOffline();
  await device.startOver();
  device.goOnline();
  await device.sync().catch(() => undefined);
  await query.fetch();
  expect(device.status.getSnapshot().heals).toBeGreaterThan(0);
  expect([...new Set(seen)]).toEqual(['p00000,p00001,p00002']);
  expect(idsOf(await query.fetch())).toEqual(['p00000', 'p00001', 'p00002']);
});

it('[DISK-8] included lists show what they showed while a source that has started over is read again', async () => {
  const server = await openServer({ sources: [{ name: 'Part' }, { name: 'Line' }] });
  await server.push('Part', parts(3), { user: 'ada' });
  await server.push('Line', { a: { part_id: 'p00001' }, ...parts(60) }, { user: 'ada' });
  const device = await openOnDisk(server, await openWatchedStore(), { user: 'ada', pageObjects: 20 }, ['Part', 'Line']);
  await device.sync();
  const query = device.source('Part').query({ include: { lines: { source: 'Line', by: 'part_id' } } });
  const linesOf = () =>
    query.getSnapshot().map(({ included }) => idsOf(included.lines as readonly SyncedObject[]).join());
  const seen: string[] = [];
  query.subscribe(() => seen.push(JSON.stringify(linesOf())));
  await query.fetch();
  expect(linesOf()).toEqual(['', 'a', '']);
  seen.length = 0;
  server.network.goOffline();
  await server.push('Line', { b: { part_id: 'p00001' } }, { user: 'ada' });
  await device.startOver();
  server.network.goOnline();
  await device.sync();
  await query.fetch();
  expect(linesOf()).toEqual(['', 'a,b', '']);
  expect(seen.filter((lines) => lines !== '["","a","" ]'.replace(' ', '') && lines !== '["","a,b",""]')).toEqual([]);
});
