import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Device,
  type DeviceOptions,
  type Include,
  type LocalRow,
  type LocalStore,
  memoryStore,
} from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { openFileStore } from '../stores/file-store.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
});

const OBJECTS = 300;
const CUSTOMER = { customer: { source: 'Customer', via: 'customer_id' } } as const;
const CHEAPEST = { orderBy: 'total', limit: 3 } as const;

/** A store whose objects are read only when the test lets it. */
class SlowStore implements LocalStore {
  readonly kept: LocalStore;
  letThrough: (error?: Error) => void = () => undefined;

  constructor(kept: LocalStore) {
    this.kept = kept;
  }

  async load(onFirst?: (rows: readonly LocalRow[]) => void): Promise<readonly LocalRow[]> {
    const rows = await this.kept.load();
    onFirst?.(rows.filter(({ table }) => table !== 'objects'));
    await new Promise<void>((resolve, reject) => {
      this.letThrough = (error) => (error === undefined ? resolve() : reject(error));
    });
    return rows;
  }

  commit(...given: Parameters<LocalStore['commit']>): Promise<void> {
    return this.kept.commit(...given);
  }

  async close(): Promise<void> {}
}

const reopen = (store: LocalStore, options: Partial<DeviceOptions> = {}) =>
  fixture.open({ user: null, store, start: 'last_results', ...options });

/** Returns a store with all objects, and the last results of a query. */
async function usedStore(include: Include = {}): Promise<LocalStore> {
  await fixture.tidemark.sources.declare({ name: 'Customer', partition_type: 'user' });
  await fixture.tidemark.objects.push({ source: 'Customer', user_id: 'ada', objects: { c1: { name: 'Ann' } } });
  const objects = Object.fromEntries(
    Array.from({ length: OBJECTS }, (_, index) => [`o${index}`, { total: OBJECTS - index, customer_id: 'c1' }]),
  );
  await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects });
  const kept = memoryStore();
  const store = { ...kept, close: async () => undefined };
  const device = await fixture.open({ store, start: 'last_results' });
  await fixture.finish(device.sync());
  device
    .source('Order')
    .query({ ...CHEAPEST, include })
    .subscribe(() => undefined);
  await fixture.finish(device.close());
  return store;
}

const idsOf = (device: Device, options: object = CHEAPEST) =>
  device
    .source('Order')
    .query(options)
    .list()
    .map(({ id }) => id);

const isLoading = (device: Device) => device.status.getSnapshot().isLoading;

/** Lets the store go on, and waits until everything is loaded. */
async function load(device: Device, store: SlowStore): Promise<void> {
  store.letThrough();
  await fixture.finish(
    new Promise<void>((resolve) => {
      const look = () => {
        if (!isLoading(device)) resolve();
      };
      device.status.subscribe(look);
      look();
    }),
  );
}

it('[SDK-26] a device shows the last results of its queries before its objects are loaded, and everything afterwards', async () => {
  const store = new SlowStore(await usedStore());
  const device = await reopen(store, {
    platform: { network: { isOnline: () => false, onChange: () => () => undefined } },
  });
  expect(isLoading(device)).toBe(true);
  expect(idsOf(device)).toEqual(['o299', 'o298', 'o297']);
  expect(device.source('Order').query().count()).toBe(3);
  let calls = 0;
  device
    .source('Order')
    .query({ orderBy: 'total' })
    .subscribe(() => calls++);
  await load(device, store);
  expect([idsOf(device), device.source('Order').query().count(), calls]).toEqual([
    ['o299', 'o298', 'o297'],
    OBJECTS,
    1,
  ]);
  await fixture.finish(device.close());
});

it('[SDK-26] objects that a query includes are among its last results', async () => {
  const device = await reopen(new SlowStore(await usedStore(CUSTOMER)));
  const [first] = device
    .source('Order')
    .query({ ...CHEAPEST, include: CUSTOMER })
    .list();
  expect(first?.included.customer?.attributes).toEqual({ name: 'Ann' });
});

it('[SDK-26] last results that are not stored any more, or are stored otherwise, are replaced when everything is loaded', async () => {
  const kept = await usedStore();
  await kept.commit([
    { table: 'objects', key: ['Order', 'o299'] },
    { table: 'objects', key: ['Order', 'o298'], value: { total: 2.5 } },
  ]);
  const store = new SlowStore(kept);
  const device = await reopen(store);
  expect(idsOf(device)).toEqual(['o299', 'o298', 'o297']);
  await load(device, store);
  expect(idsOf(device)).toEqual(['o298', 'o297', 'o296']);
  expect(device.source('Order').get('o299')).toBeUndefined();
  expect(device.source('Order').list()).toHaveLength(OBJECTS - 1);
});

it('[SDK-26] changes of objects that a device shows while others are loaded show before the call returns, and are stored and sent', async () => {
  const store = new SlowStore(await usedStore());
  const device = await reopen(store);
  const orders = device.source('Order');
  const seen: unknown[] = [];
  orders.query(CHEAPEST).subscribe(() => seen.push(idsOf(device)));
  const writing = [orders.update('o298', { total: 0.5 }), orders.create({ total: 0.1 }, { id: 'mine' })];
  expect(idsOf(device)).toEqual(['mine', 'o298', 'o299']);
  writing.push(orders.update('mine', { total: 0.2 }));
  expect(orders.get('mine')).toEqual({ id: 'mine', attributes: { total: 0.2 }, isPending: true });
  const deleting = orders.delete('o299');
  expect(idsOf(device)).toEqual(['mine', 'o298', 'o297']);
  expect(seen).toHaveLength(4);
  expect(isLoading(device)).toBe(true);
  await load(device, store);
  await fixture.finish(Promise.all([...writing, deleting]));
  expect([...new Set(seen.slice(3).map(String))]).toEqual(['mine,o298,o297']);
  expect(device.source('Order').query().count()).toBe(OBJECTS);
  await fixture.finish(device.sync());
  expect(device.status.getSnapshot()).toMatchObject({ pendingUploads: 0, problems: 0, heals: 0, error: null });
  const stored = await fixture.tidemark.objects.read({ source: 'Order', user_id: 'ada' });
  expect([stored.get('mine'), stored.get('o298'), stored.get('o299')]).toEqual([
    { total: 0.2 },
    { total: 0.5, customer_id: 'c1' },
    undefined,
  ]);
});

it('[SDK-26] changes of objects that are not loaded yet wait for them, and are stored and sent', async () => {
  const store = new SlowStore(await usedStore());
  const device = await reopen(store);
  const writing = device.source('Order').update('o0', { total: 0 });
  let calls = 0;
  const upserting = device.write((draft) => {
    calls++;
    try {
      draft.update('Order', 'o1', { total: 0.5 });
    } catch {
      draft.create('Order', { total: 0.5 }, { id: 'o1' });
    }
  });
  expect(idsOf(device)).toEqual(['o299', 'o298', 'o297']);
  await load(device, store);
  await fixture.finish(Promise.all([writing, upserting]));
  expect([calls, idsOf(device)]).toEqual([2, ['o0', 'o1', 'o299']]);
  await fixture.finish(device.sync());
  expect(device.status.getSnapshot()).toMatchObject({ pendingUploads: 0, problems: 0, heals: 0, error: null });
});

it('[SDK-26] a change to what an outdated result of a query shows waits for the object, and is stored and sent', async () => {
  const kept = await usedStore();
  const shown = ['o297', 'o298', 'o299'].map((id) => ['Order', id, { total: 7 }]);
  await kept.commit([{ table: 'facts', key: ['', 'last_results'], value: shown }]);
  const store = new SlowStore(kept);
  const device = await reopen(store);
  const orders = device.source('Order');
  const writing = [
    orders.update('o297', { total: 7 }),
    orders.update('o298', { customer_id: undefined }),
    orders.update('o299', { total: 7, note: 'x' }),
  ];
  expect(orders.list().map(({ attributes }) => attributes)).toEqual([{ total: 7 }, { total: 7 }, { total: 7 }]);
  await load(device, store);
  await fixture.finish(Promise.all(writing));
  await fixture.finish(device.sync());
  const stored = await fixture.tidemark.objects.read({ source: 'Order', user_id: 'ada' });
  expect(['o297', 'o298', 'o299'].map((id) => stored.get(id))).toEqual([
    { total: 7, customer_id: 'c1' },
    { total: 2 },
    { total: 7, customer_id: 'c1', note: 'x' },
  ]);
});

it('[SDK-26] changes that do not fit the objects that were loaded after them are taken back and refused', async () => {
  const kept = await usedStore();
  await kept.commit([{ table: 'objects', key: ['Order', 'o299'] }]);
  const store = new SlowStore(kept);
  const device = await reopen(store);
  const twice = expect(device.source('Order').create({ total: 0 }, { id: 'o1' })).rejects.toMatchObject({
    code: 'object_exists',
  });
  const gone = expect(device.source('Order').update('o299', { total: 0.5 })).rejects.toMatchObject({
    code: 'object_not_found',
  });
  const fits = device.source('Order').update('o298', { total: 0.75 });
  expect(idsOf(device)).toEqual(['o1', 'o299', 'o298']);
  await load(device, store);
  await fixture.finish(Promise.all([twice, gone, fits]));
  expect(idsOf(device)).toEqual(['o298', 'o297', 'o296']);
  await fixture.finish(device.sync());
  expect(device.status.getSnapshot()).toMatchObject({ pendingUploads: 0, problems: 0, error: null });
  const stored = await fixture.tidemark.objects.read({ source: 'Order', user_id: 'ada' });
  expect([stored.get('o1'), stored.get('o298')]).toEqual([
    { total: OBJECTS - 1, customer_id: 'c1' },
    { total: 0.75, customer_id: 'c1' },
  ]);
});

it('[SDK-26] an object of a group whose groups are not loaded yet is changed when they are', async () => {
  await fixture.tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
  await fixture.tidemark.groups.set('ada', ['north', 'south']);
  for (const group of ['north', 'south'])
    await fixture.tidemark.objects.push({ source: 'Visit', group, objects: { [group]: { n: 1 } } });
  const kept = await usedStore();
  const rows = await kept.load();
  // The object was among the last results, and the row with its groups was not.
  const shown = [['Visit', 'south', { n: 1 }]];
  await kept.commit([{ table: 'facts', key: ['', 'last_results'], value: shown }]);
  expect(rows.some(({ key }) => key[0] === 'Visit' && key[1] === 'south')).toBe(true);
  const store = new SlowStore(kept);
  const device = await reopen(store);
  const writing = device.source('Visit').update('south', { n: 2 });
  await load(device, store);
  await fixture.finish(writing);
  await fixture.finish(device.sync());
  expect(device.status.getSnapshot()).toMatchObject({ pendingUploads: 0, problems: 0, error: null });
  const south = await fixture.tidemark.objects.read({ source: 'Visit', group: 'south' });
  expect(south.get('south')).toEqual({ n: 2 });
});

it('[SDK-26] objects that cannot be loaded are an error of the status also without a network', async () => {
  const store = new SlowStore(await usedStore());
  const device = await reopen(store, {
    platform: { network: { isOnline: () => false, onChange: () => () => undefined } },
  });
  store.letThrough(new Error('the disk is gone'));
  await fixture.platform.advance(1);
  expect(device.status.getSnapshot()).toMatchObject({
    mode: 'offline',
    isLoading: true,
    error: { code: 'store_failed', detail: 'the disk is gone' },
  });
});

it('[SDK-26] signing out while objects are loaded deletes all of them and the last results', async () => {
  const kept = await usedStore();
  const store = new SlowStore(kept);
  const device = await reopen(store);
  const leaving = device.signOut();
  await load(device, store);
  await fixture.finish(leaving);
  expect(idsOf(device)).toEqual([]);
  const rows = await kept.load();
  expect(rows.map(({ table, key }) => [table, key[1]])).toEqual([['facts', 'owner']]);
  await fixture.finish(device.close());
  expect((await kept.load()).filter(({ key }) => key[1] === 'last_results')).toEqual([]);
});

it('[SDK-26] objects that cannot be loaded are an error of the status, and changes are refused with it', async () => {
  const store = new SlowStore(await usedStore());
  const device = await reopen(store);
  const writing = expect(device.source('Order').create({ total: 1 })).rejects.toMatchObject({ code: 'store_failed' });
  store.letThrough(new Error('the disk is gone'));
  await writing;
  await fixture.platform.advance(1);
  expect(device.status.getSnapshot()).toMatchObject({ isLoading: true, error: { code: 'store_failed' } });
  await expect(device.source('Order').update('o299', { total: 5 })).rejects.toMatchObject({ code: 'store_failed' });
  expect(idsOf(device)).toEqual(['o299', 'o298', 'o297']);
});

it('[SDK-26] a store that reads everything at once opens a device when everything is loaded', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'start-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const kept = await usedStore();
  const store = await openFileStore(folder);
  await store.commit(await kept.load());
  const device = await fixture.finish(reopen(store));
  expect([isLoading(device), device.source('Order').query().count()]).toEqual([false, OBJECTS]);
  await store.close();
});

it('[SDK-26] results are stored a while after they have changed', async () => {
  const store = await usedStore();
  const device = await fixture.finish(reopen(store));
  device
    .source('Order')
    .query(CHEAPEST)
    .subscribe(() => undefined);
  await fixture.finish(device.source('Order').update('o0', { total: 0 }));
  await fixture.platform.advance(5_000);
  const fact = (await store.load()).find(({ key }) => key[1] === 'last_results');
  expect(fact?.value).toEqual([
    ['Order', 'o0', { total: 0, customer_id: 'c1' }],
    ['Order', 'o299', { total: 1, customer_id: 'c1' }],
    ['Order', 'o298', { total: 2, customer_id: 'c1' }],
  ]);
});
