import { createCollection, createLiveQueryCollection, createTransaction, eq, type Transaction } from '@tanstack/db';
import { type Device, memoryStore } from '@tidemark/client';
import { openTestServer, type TestServer } from '@tidemark/client-testing';
import { newDeviceFixture } from '@tidemark/testing';
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest';
import { storeTransaction, tidemarkCollectionOptions, UploadRefusedError } from './index.ts';

interface Order {
  customer_id: string;
  total: number;
  note?: string;
  address?: { city: string; lines: string[] };
}

interface Customer {
  name: string;
}

async function start(): Promise<TestServer> {
  const sources = [{ name: 'Order', conflicts: 'detect' as const }, { name: 'Customer' }];
  const server = await openTestServer({ sources, users: ['ada', 'bob'] });
  onTestFinished(() => server.close());
  await server.push('Customer', { c1: { name: 'Ann' }, c2: { name: 'Ben' } }, { user: 'ada' });
  await server.push('Order', { o1: { customer_id: 'c1', total: 10, note: 'ring' } }, { user: 'ada' });
  return server;
}

async function open(server: TestServer, user = 'ada') {
  const device = await server.openDevice({ user });
  await device.sync();
  return { device, ...collectionsOf(device) };
}

function collectionsOf(device: Device) {
  const orders = createCollection(tidemarkCollectionOptions({ device, source: device.source<Order>('Order') }));
  const customers = createCollection(
    tidemarkCollectionOptions({ device, source: device.source<Customer>('Customer') }),
  );
  return { orders, customers };
}

/** Resolves when the condition holds, which is looked at after every change of the collection. */
function until(
  collection: { subscribeChanges(listener: () => void, options: object): unknown },
  isTrue: () => boolean,
): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (isTrue()) resolve();
    };
    // Without its rows a subscriber is not told that they are deleted.
    collection.subscribeChanges(look, { includeInitialState: true });
    look();
  });
}

/** The row without what TanStack DB adds to it. */
function plain(row: object | undefined): object | undefined {
  return row && Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('$')));
}

/** Solves every conflict of an order. */
const MERGE = { Order: () => ({ total: 50 }) };

describe('live queries', () => {
  it('[TSDB-1] a live query joins two sources and follows what the device and the server change', async () => {
    const server = await start();
    const { device, orders, customers } = await open(server);
    const named = createLiveQueryCollection((q) =>
      q
        .from({ order: orders })
        .innerJoin({ customer: customers }, ({ order, customer }) => eq(order.customer_id, customer.id))
        .select(({ order, customer }) => ({ id: order.id, name: customer.name, total: order.total })),
    );
    await named.preload();
    expect(named.toArray.map(plain)).toEqual([{ id: 'o1', name: 'Ann', total: 10 }]);

    await device.source<Order>('Order').update('o1', { customer_id: 'c2' });
    expect(named.toArray.map(plain)).toEqual([{ id: 'o1', name: 'Ben', total: 10 }]);
    await server.push('Customer', { c2: { name: 'Bea' } }, { user: 'ada' });
    await until(named, () => named.toArray[0]?.name === 'Bea');
    await server.remove('Order', ['o1'], { user: 'ada' });
    await until(named, () => named.size === 0);
  });

  it('[TSDB-1] rows, keys and utilities are typed from the source', async () => {
    const { device, orders } = await open(await start());
    await orders.preload();
    const row = orders.get('o1');
    expect(plain(row)).toEqual({ id: 'o1', customer_id: 'c1', total: 10, note: 'ring' });
    expectTypeOf(orders.get).parameter(0).toEqualTypeOf<string>();
    expectTypeOf(row?.total).toEqualTypeOf<number | undefined>();
    expectTypeOf(orders.utils.device).toEqualTypeOf<Device>();
    // @ts-expect-error: an order has a total.
    expect(() => orders.insert({ id: 'o2', customer_id: 'c1' })).not.toThrow();
    expect(orders.utils.source).toBe(device.source('Order'));
  });

  it('[TSDB-1] a collection is ready when the first sync is over, and at once with stored data or without a network', async () => {
    const server = await start();
    const store = memoryStore();
    const device = await server.openDevice({ user: 'ada', store });
    const { orders } = collectionsOf(device);
    orders.startSyncImmediate();
    expect(orders.status).toBe('loading');
    await orders.preload();
    expect([orders.status, orders.size]).toEqual(['ready', 1]);

    server.network.goOffline();
    const stranger = collectionsOf(await server.openDevice());
    await stranger.orders.preload();
    expect(stranger.orders.size).toBe(0);
  });

  it('[TSDB-1] a collection shows the last results while other objects are loaded, takes changes, and is ready with all of them', async () => {
    const server = await start();
    await server.push('Order', { o2: { customer_id: 'c1', total: 20 } }, { user: 'ada' });
    const kept = { ...memoryStore(), close: async () => undefined };
    const before = await server.openDevice({ user: 'ada', store: kept, start: 'last_results' });
    await before.sync();
    const stop = before
      .source('Order')
      .query({ orderBy: 'total', limit: 1 })
      .subscribe(() => undefined);
    await before.close();
    stop();
    let letThrough: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      letThrough = resolve;
    });
    const load: typeof kept.load = async (onFirst) => {
      const rows = await kept.load();
      onFirst?.(rows.filter(({ table }) => table !== 'objects'));
      await gate;
      return rows;
    };
    const device = await server.openDevice({ store: { ...kept, load }, start: 'last_results' });
    const { orders } = collectionsOf(device);
    const sizes: number[] = [];
    orders.onFirstReady(() => sizes.push(orders.size));
    orders.startSyncImmediate();
    expect([device.status.getSnapshot().isLoading, orders.status, [...orders.keys()]]).toEqual([
      true,
      'loading',
      ['o1'],
    ]);
    const changing = orders.update('o1', (draft) => {
      draft.total = 11;
    });
    expect(device.source<Order>('Order').get('o1')?.attributes.total).toBe(11);
    letThrough();
    await orders.preload();
    expect([orders.status, sizes, orders.get('o1')?.total]).toEqual(['ready', [2], 11]);
    await changing.isPersisted.promise;
    await device.sync();
    expect(await server.objects('Order', { user: 'ada' })).toMatchObject({ o1: { total: 11 }, o2: { total: 20 } });
  });

  it('[TSDB-1] a collection that is cleaned up stops following, and follows again when it is used', async () => {
    const { device, orders } = await open(await start());
    const source = device.source<Order>('Order');
    await orders.preload();
    expect(source.query().isLive).toBe(true);
    await orders.cleanup();
    expect(source.query().isLive).toBe(false);
    await source.update('o1', { total: 11 });
    await orders.preload();
    expect(orders.get('o1')?.total).toBe(11);
  });

  it('[TSDB-1] while the device starts over, rows that stay are never gone', async () => {
    const fixture = await newDeviceFixture();
    const push = (objects: Record<string, { total: number }>) =>
      fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects });
    await push({ o1: { total: 1 }, o2: { total: 2 } });
    const device = await fixture.open();
    await fixture.finish(device.sync());
    const { orders } = collectionsOf(device);
    await orders.preload();
    const seen: [string, unknown][] = [];
    const note = (changes: readonly { readonly type: string; readonly key: unknown }[]) => {
      for (const { type, key } of changes) seen.push([type, key]);
    };
    orders.subscribeChanges(note, { includeInitialState: true });
    expect(seen.splice(0)).toHaveLength(2);
    await fixture.tidemark.objects.pushDeletes({ source: 'Order', user_id: 'ada', objects: ['o2'] });
    await push({ o3: { total: 3 } });
    // A checksum that does not match makes the device fetch everything again.
    let pulls = 0;
    fixture.intercept = ({ path }, go) => {
      if (path !== '/pull' || ++pulls > 1) return undefined;
      return go().then(async (response) => {
        const answer = (await response.json()) as { sources: Record<string, object> };
        for (const page of Object.values(answer.sources)) Object.assign(page, { checksum: 1 });
        return Response.json(answer);
      });
    };
    await fixture.finish(device.sync());
    expect(device.status.getSnapshot().heals).toBeGreaterThan(0);
    expect(seen.sort()).toEqual([
      ['delete', 'o2'],
      ['insert', 'o3'],
    ]);
    await fixture.finish(device.close());
  });
});

describe('mutations', () => {
  it('[TSDB-2] an insert shows at once, is stored without a network, and is confirmed when there is one', async () => {
    const server = await start();
    const { device, orders } = await open(server);
    await orders.preload();
    server.network.goOffline();
    const transaction = orders.insert({ id: 'o2', customer_id: 'c1', total: 5 });
    expect(orders.get('o2')?.total).toBe(5);
    await transaction.isPersisted.promise;
    expect([orders.get('o2')?.total, orders.utils.isPending('o2')]).toEqual([5, true]);
    expect(device.uploads.list()).toHaveLength(1);
    let isConfirmed = false;
    const confirmed = orders.utils.whenConfirmed(transaction).then(() => {
      isConfirmed = true;
    });
    await Promise.resolve();
    expect(isConfirmed).toBe(false);

    server.network.goOnline();
    await confirmed;
    expect([orders.get('o2')?.total, orders.utils.isPending('o2')]).toEqual([5, false]);
    expect(await server.objects('Order', { user: 'ada' })).toMatchObject({ o2: { customer_id: 'c1', total: 5 } });
  });

  it('[TSDB-2] a change that was stored is shown without a moment in which it is gone', async () => {
    const { orders } = await open(await start());
    await orders.preload();
    const totals: (number | undefined)[] = [];
    orders.subscribeChanges(() => totals.push(orders.get('o1')?.total));
    const transaction = orders.update('o1', (draft) => {
      draft.total = 20;
    });
    await orders.utils.whenConfirmed(transaction);
    expect(new Set(totals)).toEqual(new Set([20]));
  });

  it('[TSDB-2] an update uploads the attributes that differ, within values and with removed ones', async () => {
    const server = await start();
    const { device, orders } = await open(server);
    await orders.preload();
    server.network.goOffline();
    await orders.update('o1', (draft) => {
      draft.address = { city: 'Bern', lines: ['1'] };
      delete draft.note;
    }).isPersisted.promise;
    expect(device.uploads.list()).toMatchObject([{ attributes: { address: { city: 'Bern' } }, removed: ['note'] }]);
    expect(plain(orders.get('o1'))).not.toHaveProperty('note');
    server.network.goOnline();
    await device.sync();
    const transaction = orders.update('o1', (draft) => draft.address?.lines.push('2'));
    await orders.utils.whenConfirmed(transaction);
    expect(await server.objects('Order', { user: 'ada' })).toEqual({
      o1: { customer_id: 'c1', total: 10, address: { city: 'Bern', lines: ['1', '2'] } },
    });
    await orders.utils.whenConfirmed(orders.delete('o1'));
    expect(await server.objects('Order', { user: 'ada' })).toEqual({});
  });

  it('[TSDB-3] a change that the server refuses is rolled back, and whoever waits for it is told why', async () => {
    const server = await start();
    const { device, orders } = await open(server);
    await orders.preload();
    server.network.goOffline();
    const transaction = orders.update('o1', (draft) => {
      draft.total = 20;
    });
    await transaction.isPersisted.promise;
    await server.push('Order', { o1: { total: 30 } }, { user: 'ada' });
    server.network.goOnline();
    const refusal = await orders.utils.whenConfirmed(transaction).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(UploadRefusedError);
    expect((refusal as UploadRefusedError).problem).toMatchObject({ id: 'o1', status: 'conflict' });
    await device.sync();
    expect(orders.get('o1')?.total).toBe(30);
    expect(device.problems.list()).toHaveLength(1);
    // Asked later, the answer is the same.
    await expect(orders.utils.whenConfirmed(transaction)).rejects.toThrow(/Order "o1"/);
  });

  it('[TSDB-3] a conflict that a merge function solves is waited for until the merged change is confirmed', async () => {
    const server = await start();
    const device = await server.openDevice({ user: 'ada', merge: MERGE });
    await device.sync();
    const { orders } = collectionsOf(device);
    await orders.preload();
    server.network.goOffline();
    const transaction = orders.update('o1', (draft) => {
      draft.total = 20;
    });
    await transaction.isPersisted.promise;
    await server.push('Order', { o1: { total: 30 } }, { user: 'ada' });
    server.network.goOnline();
    await orders.utils.whenConfirmed(transaction);
    expect(await server.objects('Order', { user: 'ada' })).toMatchObject({ o1: { total: 50 } });
  });

  it('[TSDB-3] a change that the device refuses to store is rolled back at once', async () => {
    const { orders } = await open(await start());
    await orders.preload();
    const transaction = orders.insert({ id: 'o2', customer_id: 'c1', total: Number.NaN });
    expect(orders.has('o2')).toBe(true);
    await expect(transaction.isPersisted.promise).rejects.toMatchObject({ code: 'unsafe_number' });
    await expect(orders.utils.whenConfirmed(transaction)).rejects.toMatchObject({ code: 'unsafe_number' });
    expect(orders.has('o2')).toBe(false);
  });

  it('[TSDB-4] a transaction over several collections is stored as one, or not at all', async () => {
    const server = await start();
    const { device, orders, customers } = await open(server);
    await Promise.all([orders.preload(), customers.preload()]);
    const make = () =>
      createTransaction({ mutationFn: ({ transaction }) => storeTransaction(device, transaction), autoCommit: false });
    const good = make();
    good.mutate(() => {
      customers.insert({ id: 'c3', name: 'Cem' });
      orders.insert({ id: 'o3', customer_id: 'c3', total: 3 });
    });
    await good.commit();
    await orders.utils.whenConfirmed(good as unknown as Transaction);
    expect(await server.objects('Customer', { user: 'ada' })).toHaveProperty('c3');

    const bad = make();
    bad.mutate(() => {
      customers.insert({ id: 'c4', name: 'Dan' });
      orders.insert({ id: 'o4', customer_id: 'c4', total: Number.NaN });
    });
    await expect(bad.commit()).rejects.toMatchObject({ code: 'unsafe_number' });
    expect([customers.has('c4'), orders.has('o4'), device.source('Customer').get('c4')]).toEqual([
      false,
      false,
      undefined,
    ]);
  });

  it('[TSDB-5] signing out empties the collections, ends waiting, and the next user sees their own rows', async () => {
    const server = await start();
    await server.push('Order', { b1: { customer_id: 'x', total: 1 } }, { user: 'bob' });
    const { device, orders } = await open(server);
    await orders.preload();
    server.network.goOffline();
    const transaction = orders.insert({ id: 'o2', customer_id: 'c1', total: 5 });
    await transaction.isPersisted.promise;
    const outcome = expect(orders.utils.whenConfirmed(transaction)).rejects.toThrow(/signed out/);
    await device.signOut({ discardUploads: true });
    await outcome;
    expect([orders.size, orders.status]).toEqual([0, 'ready']);
    await expect(orders.insert({ id: 'o3', customer_id: 'c1', total: 5 }).isPersisted.promise).rejects.toMatchObject({
      code: 'signed_out',
    });
    server.network.goOnline();
    await device.signIn({ login: 'bob', password: server.password });
    await until(orders, () => orders.has('b1'));
    expect(orders.size).toBe(1);
  });

  it('[TSDB-5] once everything is confirmed, nothing follows the queue of uploads any more', async () => {
    const { device, orders } = await open(await start());
    await orders.preload();
    const stop = vi.fn();
    const subscribe = device.uploads.subscribe;
    vi.spyOn(device.uploads, 'subscribe').mockImplementation((listener) => {
      const unsubscribe = subscribe(listener);
      return () => {
        unsubscribe();
        stop();
      };
    });
    await orders.utils.whenConfirmed(orders.insert({ id: 'o2', customer_id: 'c1', total: 5 }));
    expect(stop).toHaveBeenCalledTimes(1);
  });
});
