import { type Device, type LocalStore, type LocalWrite, memoryStore, type SyncedObject } from '@tidemark/client';
import {
  openTestServer,
  type TestDeviceOptions,
  type TestServer,
  type TestServerOptions,
} from '@tidemark/client-testing';
import sqlite from 'node-sqlite3-wasm';
import { expect, it, onTestFinished } from 'vitest';
import { wasmSqlite } from './drivers/wasm-sqlite.ts';
import { openSqliteStore } from './sqlite-store.ts';

/** A store that outlives its device, and counts what is read from it. */
async function newStore(): Promise<LocalStore & { readonly objectsRead: () => number }> {
  const store = await openSqliteStore(wasmSqlite(new sqlite.Database(':memory:')));
  const { disk } = store;
  if (disk === undefined) throw new Error('a SQLite store has a disk part');
  onTestFinished(() => store.close());
  let objectsRead = 0;
  return {
    load: (onFirst) => store.load(onFirst),
    commit: (writes, options) => store.commit(writes, options),
    close: async () => undefined,
    objectsRead: () => objectsRead,
    disk: {
      load: async (choose) => {
        const rows = await disk.load(choose);
        objectsRead += rows.filter(({ table }) => table === 'objects').length;
        return rows;
      },
      read: (keys) => {
        objectsRead += keys.length;
        return disk.read(keys);
      },
      scan: async (scan) => {
        const rows = await disk.scan(scan);
        objectsRead += rows.length;
        return rows;
      },
      count: (scan, max) => disk.count(scan, max),
      measure: (first) => disk.measure(first),
      addIndex: (source, path) => disk.addIndex(source, path),
    },
  };
}

async function openServer(options: Partial<TestServerOptions> = {}): Promise<TestServer> {
  const server = await openTestServer({ sources: [{ name: 'Part' }], users: ['ada', 'bob'], ...options });
  onTestFinished(() => server.close());
  return server;
}

async function openOnDisk(
  server: TestServer,
  store: LocalStore,
  options: TestDeviceOptions = { user: 'ada' },
): Promise<Device> {
  const device = await server.openDevice({ store, ...options });
  device.source('Part', { keep: 'disk', indexes: ['n'] });
  return device;
}

const parts = (count: number, from = 0) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`p${String(n + from).padStart(5, '0')}`, { n: n + from }]),
  );
const idsOf = (rows: readonly SyncedObject[]) => rows.map(({ id }) => id);
const FIRST = { orderBy: 'n', limit: 3 } as const;

it('[DISK-4] a device starts with a source on the disk, and reads only what a query shows', async () => {
  const server = await openServer();
  const store = await newStore();
  await server.push('Part', parts(5_000), { user: 'ada' });
  const before = await openOnDisk(server, store);
  await before.sync();
  await before.close();
  server.network.goOffline();
  const read = store.objectsRead();
  const device = await server.openDevice({ store });
  const query = device.source('Part', { indexes: ['n'] }).query({ orderBy: { n: 'desc' }, limit: 3, offset: 2_000 });
  expect([query.getSnapshot(), query.isLoading]).toEqual([[], true]);
  expect(idsOf(await query.fetch())).toEqual(['p02999', 'p02998', 'p02997']);
  expect(query.isLoading).toBe(false);
  expect(store.objectsRead() - read).toBeLessThan(150);
  query.count();
  await query.fetch();
  expect(query.count()).toBe(5_000);
});

it('[DISK-4] a change made here shows in live queries before the call returns, and is uploaded', async () => {
  const server = await openServer();
  await server.push('Part', parts(100), { user: 'ada' });
  const device = await openOnDisk(server, await newStore());
  await device.sync();
  const source = device.source('Part');
  const query = source.query(FIRST);
  let told = 0;
  query.subscribe(() => told++);
  await query.fetch();
  server.network.goOffline();
  const before = told;
  const done = [source.create({ n: -1 }, { id: 'new' }), source.update('p00001', { n: 50 }), source.delete('p00002')];
  expect([idsOf(query.getSnapshot()), told - before]).toEqual([['p00000', 'p00003', 'p00004'], 2]);
  await Promise.all(done);
  query.count();
  await query.fetch();
  expect([idsOf(query.getSnapshot()), query.count()]).toEqual([['new', 'p00000', 'p00003'], 100]);
  server.network.goOnline();
  await device.sync();
  const stored = await server.objects('Part', { user: 'ada' });
  expect([stored.new, stored.p00001, stored.p00002]).toEqual([{ n: -1 }, { n: 50 }, undefined]);
  expect(idsOf(query.getSnapshot())).toEqual(['new', 'p00000', 'p00003']);
  expect(query.getSnapshot().some(({ isPending }) => isPending)).toBe(false);
});

it('[DISK-4] an object that is not loaded is found by fetch, and can be changed and deleted', async () => {
  const server = await openServer();
  await server.push('Part', parts(10), { user: 'ada' });
  const device = await openOnDisk(server, await newStore());
  await device.sync();
  const source = device.source('Part');
  expect(source.get('p00003')).toBeUndefined();
  expect((await source.fetch('p00003'))?.attributes).toEqual({ n: 3 });
  expect([source.get('p00003')?.attributes, await source.fetch('none')]).toEqual([{ n: 3 }, undefined]);
  await source.update('p00004', { note: 'x' });
  await source.delete('p00005');
  await expect(source.update('none', { n: 1 })).rejects.toMatchObject({ code: 'object_not_found' });
  await expect(source.create({ n: 1 }, { id: 'p00006' })).rejects.toMatchObject({ code: 'object_exists' });
  await device.write((draft) => {
    for (const id of ['p00007', 'p00008']) draft.update('Part', id, { note: 'both' });
  });
  await device.sync();
  const { p00004, p00005, p00007, p00008 } = await server.objects('Part', { user: 'ada' });
  expect([p00004, p00005]).toEqual([{ n: 4, note: 'x' }, undefined]);
  expect([p00007?.note, p00008?.note]).toEqual(['both', 'both']);
});

it('[DISK-4] changes made here are there after a restart, over objects that are not loaded', async () => {
  const server = await openServer();
  await server.push('Part', parts(10), { user: 'ada' });
  const store = await newStore();
  const before = await openOnDisk(server, store);
  await before.sync();
  server.network.goOffline();
  await before.source('Part').update('p00004', { n: -4 });
  await before.source('Part').create({ n: -9 }, { id: 'new' });
  await before.close();
  const device = await openOnDisk(server, store, {});
  expect(idsOf(await device.source('Part').query(FIRST).fetch())).toEqual(['new', 'p00004', 'p00000']);
  expect(device.source('Part').get('p00004')).toMatchObject({ attributes: { n: -4 }, isPending: true });
});

it('[DISK-5] objects are read as one list only from memory, and a store that cannot keep them says what can', async () => {
  const server = await openServer();
  const device = await openOnDisk(server, await newStore());
  const source = device.source('Part');
  expect(() => source.list()).toThrowError(/Part is kept on the disk: read it by a query with a limit, or by pages/);
  const other = await server.openDevice({ user: 'bob', store: memoryStore() });
  expect(() => other.source('Part', { keep: 'disk' })).toThrowError(/open the device with a SQLite store/);
  const memory = await server.openDevice({ user: 'bob', store: await newStore() });
  memory.source('Part').query();
  expect(() => memory.source('Part', { keep: 'disk' })).toThrowError(/Part is used already/);
});

it('[DISK-5] a source moves to the disk and back to memory without losing objects or changes made here', async () => {
  const server = await openServer();
  await server.push('Part', parts(3_000), { user: 'ada' });
  const store = await newStore();
  let device = await server.openDevice({ user: 'ada', store });
  await device.sync();
  expect(device.source('Part').list().length).toBe(3_000);
  server.network.goOffline();
  await device.source('Part').update('p00001', { n: -1 });
  await device.close();
  for (const keep of ['disk', 'memory', 'disk', 'memory'] as const) {
    device = await server.openDevice({ store });
    const source = device.source('Part', { keep, indexes: ['n'] });
    const rows = await source.query(FIRST).fetch();
    expect([keep, idsOf(rows), rows[0]?.isPending]).toEqual([keep, ['p00001', 'p00000', 'p00002'], true]);
    if (keep === 'memory') expect(source.list().length).toBe(3_000);
    await device.close();
  }
  server.network.goOnline();
  device = await server.openDevice({ store });
  await device.sync();
  expect((await server.objects('Part', { user: 'ada' })).p00001).toEqual({ n: -1 });
});

it('[DISK-6] a source that starts over shows what it showed until everything has come again, and then what the server has', async () => {
  const server = await openServer();
  await server.push('Part', parts(4_000), { user: 'ada' });
  const device = await openOnDisk(server, await newStore(), { user: 'ada', pageObjects: 500 });
  await device.sync();
  const query = device.source('Part').query(FIRST);
  const seen: string[][] = [];
  query.subscribe(() => seen.push(idsOf(query.getSnapshot())));
  await query.fetch();
  await server.remove('Part', ['p00000'], { user: 'ada' });
  await device.sync();
  await device.startOver();
  await device.sync();
  await query.fetch();
  expect(seen.filter((ids) => ids.length < 3)).toEqual([]);
  expect(idsOf(query.getSnapshot())).toEqual(['p00001', 'p00002', 'p00003']);
  const last = device.source('Part').query({ orderBy: { n: 'desc' }, limit: 1 });
  expect(idsOf(await last.fetch())).toEqual(['p03999']);
});

it('[DISK-6] a device that finds an object damaged on the disk starts the source over by itself', async () => {
  const server = await openServer();
  await server.push('Part', parts(50), { user: 'ada' });
  const store = await newStore();
  const before = await openOnDisk(server, store);
  await before.sync();
  await before.close();
  const lost: LocalWrite = { table: 'objects', key: ['Part', 'p00007'] };
  await store.commit([lost]);
  const device = await openOnDisk(server, store, {});
  const healed = new Promise((resolve) => device.on('healed', resolve));
  await device.sync();
  await healed;
  await device.sync();
  expect((await device.source('Part').fetch('p00007'))?.attributes).toEqual({ n: 7 });
});

it('[DISK-6] signing out empties the queries at once and the disk, and another user sees nothing of it', async () => {
  const server = await openServer();
  await server.push('Part', parts(20), { user: 'ada' });
  await server.push('Part', { other: { n: 1 } }, { user: 'bob' });
  const store = await newStore();
  const device = await openOnDisk(server, store);
  await device.sync();
  const query = device.source('Part').query(FIRST);
  query.subscribe(() => undefined);
  await query.fetch();
  await device.signOut();
  expect([query.getSnapshot(), device.source('Part').get('p00000')]).toEqual([[], undefined]);
  expect(await store.disk?.measure('Part')).toEqual({ size: 0, checksum: 0 });
  await device.signIn({ login: 'bob', password: server.password });
  await device.sync();
  expect(idsOf(await query.fetch())).toEqual(['other']);
});

it('[DISK-7] groups on the disk show what all groups of the user have, also when one is joined or left', async () => {
  const sources = [{ name: 'Part', partition_type: 'group' } as const];
  const server = await openServer({ sources, groups: { north: ['ada'], south: ['ada'] } });
  await server.push('Part', { both: { n: 1 }, north: { n: 2 } }, { group: 'north' });
  await server.push('Part', { both: { n: 9 }, south: { n: 3 } }, { group: 'south' });
  await server.push('Part', parts(30, 100), { group: 'east' });
  const device = await openOnDisk(server, await newStore());
  await device.sync();
  const query = device.source('Part').query({ orderBy: 'n' });
  query.subscribe(() => undefined);
  const shown = async () => (await query.fetch()).map(({ id, groups, attributes }) => [id, groups, attributes.n]);
  expect(await shown()).toEqual([
    ['both', ['north', 'south'], 1],
    ['north', ['north'], 2],
    ['south', ['south'], 3],
  ]);
  await device.source('Part').update('south', { n: 0 });
  await device.source('Part').create({ n: -1 }, { id: 'new', group: 'north' });
  await device.sync();
  await server.setGroups('ada', ['south', 'east']);
  await device.sync();
  expect((await shown()).length).toBe(32);
  expect((await shown()).slice(0, 2)).toEqual([
    ['south', ['south'], 0],
    ['both', ['south'], 9],
  ]);
  await server.push('Part', { both: { n: -5 } }, { group: 'south' });
  await device.sync();
  expect((await shown())[0]).toEqual(['both', ['south'], -5]);
});

it('[DISK-8] queries include objects across sources in memory and on the disk, both ways, and follow their changes', async () => {
  const sources = [{ name: 'Part' }, { name: 'Order', references: { part_id: 'Part' } }];
  const server = await openServer({ sources });
  await server.push('Part', parts(50), { user: 'ada' });
  await server.push(
    'Order',
    { o1: { part_id: 'p00001' }, o2: { part_id: 'p00001' }, o3: { part_id: 'none' } },
    { user: 'ada' },
  );
  for (const kept of [['Part'], ['Part', 'Order'], ['Order']]) {
    const device = await server.openDevice({ user: 'ada', store: await newStore() });
    for (const name of ['Part', 'Order']) device.source(name, { keep: kept.includes(name) ? 'disk' : 'memory' });
    await device.sync();
    const orders = device.source('Order').query({ include: { part: 'part_id' } });
    const withOrders = device.source('Part').query({
      where: { n: { lte: 2 } },
      include: { orders: { source: 'Order', by: 'part_id' } },
    });
    for (const query of [orders, withOrders]) query.subscribe(() => undefined);
    const partOf = async () =>
      (await orders.fetch()).map(({ included }) => (included.part as SyncedObject | undefined)?.attributes.n);
    const ordersOf = async () =>
      (await withOrders.fetch()).map(({ included }) => idsOf(included.orders as readonly SyncedObject[]));
    expect([kept, await partOf(), await ordersOf()]).toEqual([kept, [1, 1, undefined], [[], ['o1', 'o2'], []]]);
    await device.source('Part').update('p00001', { n: -1 });
    await device.source('Order').update('o2', { part_id: 'p00002' });
    await device.source('Order').create({ part_id: 'p00001' }, { id: 'o4' });
    expect([kept, await partOf()]).toEqual([kept, [-1, 2, undefined, -1]]);
    expect([kept, await ordersOf()]).toEqual([kept, [[], ['o1', 'o4'], ['o2']]]);
    await device.sync();
    expect([kept, await partOf(), await ordersOf()]).toEqual([
      kept,
      [-1, 2, undefined, -1],
      [[], ['o1', 'o4'], ['o2']],
    ]);
    await device.source('Part').update('p00001', { n: 1 });
    await device.source('Order').update('o2', { part_id: 'p00001' });
    await device.source('Order').delete('o4');
    await device.sync();
    await device.close();
  }
});

it('[DISK-9] a long list grows page by page, on the disk and in memory, and follows the pages that it shows', async () => {
  const server = await openServer();
  await server.push('Part', parts(25), { user: 'ada' });
  for (const keep of ['disk', 'memory'] as const) {
    const device = await server.openDevice({ user: 'ada', store: await newStore() });
    const source = device.source('Part', { keep, indexes: ['n'] });
    await device.sync();
    const pages = source.pages({ size: 10, orderBy: 'n', where: { n: { gte: 0 } } });
    let told = 0;
    const stop = pages.subscribe(() => told++);
    await source.query({ orderBy: 'n', where: { n: { gte: 0 } }, limit: 11 }).fetch();
    const state = () => [pages.getSnapshot().length, pages.hasMore, pages.isLoading];
    expect([keep, state()]).toEqual([keep, [10, true, false]]);
    await Promise.all([pages.more(), pages.more()]);
    expect([keep, state()]).toEqual([keep, [20, true, false]]);
    await pages.more();
    await pages.more();
    expect([keep, state()]).toEqual([keep, [25, false, false]]);
    expect(pages.getSnapshot()).toBe(pages.getSnapshot());
    const before = told;
    server.network.goOffline();
    await source.delete('p00003');
    expect([keep, state(), told > before]).toEqual([keep, [24, false, false], true]);
    server.network.goOnline();
    await source.create({ n: 3 }, { id: 'p00003' });
    await device.sync();
    stop();
    expect(() => source.pages({ size: 0 })).toThrowError(/"size": expected a whole number from 1/);
    await device.close();
  }
});

it('[DISK-4] every change made here is told to the subscribers of a live query, one after the other', async () => {
  const server = await openServer();
  await server.push('Part', parts(200), { user: 'ada' });
  const store = await newStore();
  const before = await openOnDisk(server, store);
  await before.sync();
  await before.close();
  server.network.goOffline();
  const device = await openOnDisk(server, store, {});
  const query = device.source('Part').query({ orderBy: 'n', limit: 50 });
  let told = 0;
  query.subscribe(() => told++);
  await query.fetch();
  for (let edit = 0; edit < 5; edit++) {
    const [id = ''] = idsOf(query.getSnapshot()).slice(edit);
    const earlier = told;
    const done = device.source('Part').update(id, { note: edit });
    expect([edit, told - earlier]).toEqual([edit, 1]);
    await done;
  }
});
