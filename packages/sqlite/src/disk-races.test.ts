import { expect, it } from 'vitest';
import { holdReads, idsOf, openOnDisk, openServer, openWatchedStore, parts } from './testing/disk-fixture.ts';

it('[DISK-3] a query that had reached the end of its source knows how many objects match when thousands more come', async () => {
  const server = await openServer();
  const device = await openOnDisk(server, await openWatchedStore());
  await device.sync();
  const query = device.source('Part').query({ orderBy: 'n', limit: 3 });
  query.subscribe(() => undefined);
  await query.fetch();
  expect(query.count()).toBe(0);
  await server.push('Part', parts(3000), { user: 'ada' });
  await device.sync();
  await query.fetch();
  await server.push('Part', parts(800, 3000), { user: 'ada' });
  await device.sync();
  await query.fetch();
  expect(query.count()).toBe(3800);
});

it('[DISK-4] an object that gets its final id is found by both ids, and shows all the time', async () => {
  const backend = { create: async ({ id }: { id: string }) => ({ id: `real-${id}` }) };
  const server = await openServer({
    sources: [
      { name: 'Part', backend },
      { name: 'Line', references: { part_id: 'Part' } },
    ],
  });
  await server.push('Part', parts(3), { user: 'ada' });
  const device = await openOnDisk(server, await openWatchedStore(), { user: 'ada' }, ['Part', 'Line']);
  await device.sync();
  const query = device.source('Part').query({ orderBy: 'n' });
  const seen: string[] = [];
  query.subscribe(() => seen.push(idsOf(query.getSnapshot()).join()));
  await query.fetch();
  server.network.goOffline();
  await device.source('Part').create({ n: 9 }, { id: 'tmp' });
  await device.source('Line').create({ part_id: 'tmp' }, { id: 'l' });
  server.network.goOnline();
  await device.sync();
  await query.fetch();
  expect(idsOf(query.getSnapshot())).toEqual(['p00000', 'p00001', 'p00002', 'real-tmp']);
  expect(device.source('Part').get('real-tmp')?.attributes).toEqual({ n: 9 });
  expect(device.source('Part').get('tmp')).toBe(device.source('Part').get('real-tmp'));
  expect(seen.every((ids) => ids.split(',').length >= 3)).toBe(true);
  await device.source('Part').update('tmp', { n: 10 });
  await device.sync();
  expect(device.source('Part').get('tmp')?.attributes).toEqual({ n: 10 });
  expect((await device.source('Line').fetch('l'))?.attributes).toEqual({ part_id: 'real-tmp' });
});

it('[DISK-6] what a query was reading while the user signed out is not in memory afterwards', async () => {
  const server = await openServer();
  await server.push('Part', parts(30), { user: 'ada' });
  const store = await openWatchedStore();
  const device = await openOnDisk(server, store);
  await device.sync();
  const { begun, release } = holdReads(store);
  const query = device.source('Part').query({ orderBy: 'n' });
  const fetched = query.fetch();
  await begun;
  await device.signOut();
  release();
  expect(await fetched).toEqual([]);
  expect(device.source('Part').get('p00003')).toBeUndefined();
});

it('[DISK-3] an object that changes while a query reads it is not kept as it was', async () => {
  const server = await openServer();
  await server.push('Part', parts(30), { user: 'ada' });
  const store = await openWatchedStore();
  const device = await openOnDisk(server, store);
  await device.sync();
  const { begun, release } = holdReads(store);
  const query = device.source('Part').query({ orderBy: 'n', where: { n: { lt: 10 } } });
  const fetched = query.fetch();
  await begun;
  await server.push('Part', { p00003: { n: 50 } }, { user: 'ada' });
  await server.remove('Part', ['p00004'], { user: 'ada' });
  await device.sync();
  release();
  await fetched;
  expect(idsOf(query.getSnapshot())).toEqual([
    'p00000',
    'p00001',
    'p00002',
    'p00005',
    'p00006',
    'p00007',
    'p00008',
    'p00009',
  ]);
  expect((await device.source('Part').fetch('p00003'))?.attributes).toEqual({ n: 50 });
  expect(await device.source('Part').fetch('p00004')).toBeUndefined();
});

it('[DISK-7] an object shown among many shows the groups that it has come into, although nothing else of it has changed', async () => {
  const sources = [{ name: 'Part', partition_type: 'group' } as const];
  const server = await openServer({ sources, groups: { north: ['ada'], south: ['ada'] } });
  await server.push('Part', parts(1500), { group: 'north' });
  const device = await openOnDisk(server, await openWatchedStore());
  await device.sync();
  const query = device.source('Part').query({ orderBy: 'n' });
  query.subscribe(() => undefined);
  await query.fetch();
  expect(device.source('Part').get('p00000')?.groups).toEqual(['north']);
  await server.push('Part', parts(2), { group: 'south' });
  await device.sync();
  await query.fetch();
  await server.push('Part', parts(1, 1), { group: 'south' });
  await server.push('Part', parts(3), { group: 'south' });
  await device.sync();
  expect(query.getSnapshot()[2]?.groups).toEqual(['north', 'south']);
  expect(query.getSnapshot()[0]?.groups).toEqual(['north', 'south']);
  expect(device.source('Part').get('p00000')?.groups).toEqual(['north', 'south']);
});

it('[DISK-8] a query of objects in memory gives another list when what it includes from the disk is there', async () => {
  const server = await openServer({ sources: [{ name: 'Part' }, { name: 'Line' }] });
  await server.push('Part', parts(3), { user: 'ada' });
  await server.push('Line', { a: { part_id: 'none' } }, { user: 'ada' });
  const device = await openOnDisk(server, await openWatchedStore());
  await device.sync();
  const query = device.source('Line').query({ include: { part: { source: 'Part', via: 'part_id' } } });
  const seen: unknown[] = [];
  query.subscribe(() => seen.push(query.isLoading));
  expect(query.isLoading).toBe(true);
  const before = query.getSnapshot();
  await query.fetch();
  expect([query.isLoading, seen.at(-1), query.getSnapshot() !== before]).toEqual([false, false, true]);
});

it('[DISK-8] a query made before the first sync includes objects of a source that is put on the disk after it', async () => {
  const sources = [{ name: 'Part' }, { name: 'Line', references: { part_id: 'Part' } }];
  const server = await openServer({ sources });
  await server.push('Part', parts(3), { user: 'ada' });
  await server.push('Line', { a: { part_id: 'p00001' } }, { user: 'ada' });
  server.network.goOffline();
  const device = await server.openDevice({ store: await openWatchedStore() });
  const query = device.source('Line').query({ include: { part: 'part_id' } });
  query.subscribe(() => undefined);
  device.source('Part', { keep: 'disk' });
  server.network.goOnline();
  await device.signIn({ login: 'ada', password: server.password });
  await device.sync();
  const [row] = await query.fetch();
  expect(row?.included.part).toMatchObject({ id: 'p00001', attributes: { n: 1 } });
});

it('[DISK-7] a query that includes objects shows the groups that an object has come into and left, in memory and on the disk', async () => {
  const sources = [{ name: 'Part', partition_type: 'group' } as const, { name: 'Line' }];
  const server = await openServer({ sources, groups: { north: ['ada'], south: ['ada'] } });
  for (const group of ['north', 'south']) await server.push('Part', parts(2), { group });
  for (const names of [[], ['Part'], ['Line'], ['Part', 'Line']]) {
    await server.setGroups('ada', ['north', 'south']);
    const device = await openOnDisk(server, await openWatchedStore(), { user: 'ada' }, names);
    await device.sync();
    const query = device.source('Part').query({ include: { lines: { source: 'Line', by: 'part_id' } } });
    query.subscribe(() => undefined);
    const groups = async () => (await query.fetch()).map((row) => row.groups);
    expect([names, await groups()]).toEqual([
      names,
      [
        ['north', 'south'],
        ['north', 'south'],
      ],
    ]);
    await server.setGroups('ada', ['north']);
    await device.sync();
    expect([names, await groups()]).toEqual([names, [['north'], ['north']]]);
    await device.close();
  }
});

it('[DISK-3] a query that let go of what is far behind it reads what follows when everything that it held is deleted', async () => {
  const server = await openServer();
  await server.push('Part', parts(5), { user: 'ada' });
  const device = await openOnDisk(server, await openWatchedStore());
  await device.sync();
  const query = device.source('Part').query({ orderBy: 'n', limit: 3 });
  query.subscribe(() => undefined);
  await query.fetch();
  await server.push('Part', parts(100, 5), { user: 'ada' });
  await device.sync();
  await query.fetch();
  await server.remove('Part', Object.keys(parts(80)), { user: 'ada' });
  await device.sync();
  expect(idsOf(await query.fetch())).toEqual(['p00080', 'p00081', 'p00082']);
});
