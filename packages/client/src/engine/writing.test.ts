import type { Device, LocalWrite } from '@tidemark/client';
import type { PushRequest, Upload } from '@tidemark/protocol';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { memoryStore } from '../stores/memory-store.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
  await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { a: 1, b: 1 }, 2: { a: 1 } } });
});

const pushed = (): readonly Upload[] =>
  fixture.sync.log.filter(({ path }) => path === '/push').flatMap(({ body }) => (body as PushRequest).changes);

const onServer = async () =>
  Object.fromEntries(await fixture.tidemark.objects.read({ source: 'Order', user_id: 'ada' }));

/** A store whose commits wait until the test lets them through or refuses them. */
function slowStore() {
  const store = memoryStore();
  const waiting: { readonly go: () => void; readonly refuse: () => void }[] = [];
  let isSlow = false;
  return {
    waiting,
    slowDown: (slow: boolean) => {
      isSlow = slow;
    },
    store: {
      load: () => store.load(),
      close: () => store.close(),
      commit: async (writes: readonly LocalWrite[]) => {
        if (isSlow) {
          await new Promise<void>((resolve, reject) => {
            waiting.push({ go: resolve, refuse: () => reject(new Error('disk full')) });
          });
        }
        await store.commit(writes);
      },
    },
  };
}

const synced = async (options: Parameters<DeviceFixture['open']>[0] = {}): Promise<Device> => {
  const device = await fixture.open(options);
  await fixture.finish(device.sync());
  return device;
};

describe('visibility of a change', () => {
  it('[UP-15] a change is visible before the call returns, and its promise resolves when it is stored', async () => {
    const slow = slowStore();
    const device = await synced({ store: slow.store });
    fixture.platform.setOnline(false);
    slow.slowDown(true);
    const orders = device.source('Order');
    let calls = 0;
    orders.subscribe(() => calls++);
    let isStored = false;
    const update = orders.update('1', { a: 2 }).then(() => {
      isStored = true;
    });
    expect(orders.get('1')).toMatchObject({ attributes: { a: 2, b: 1 }, isPending: true });
    const create = orders.create({ a: 7 }, { id: 'new' });
    const remove = orders.delete('2');
    expect(orders.list().map(({ id }) => id)).toEqual(['1', 'new']);
    expect(calls).toBe(3);
    expect(device.status.getSnapshot().pendingUploads).toBe(3);
    expect(device.uploads.list().map(({ op }) => op)).toEqual(['update', 'create', 'delete']);
    await fixture.platform.until(() => slow.waiting.length > 0);
    expect(isStored).toBe(false);
    slow.slowDown(false);
    for (const { go } of slow.waiting) go();
    await Promise.all([update, create, remove]);
    expect(calls).toBe(3);
  });

  it('[UP-15] a change that the store refuses is taken back, and its promise rejects', async () => {
    const slow = slowStore();
    const device = await synced({ store: slow.store });
    fixture.platform.setOnline(false);
    slow.slowDown(true);
    const orders = device.source('Order');
    const update = orders.update('1', { a: 2 });
    const refused = expect(update).rejects.toMatchObject({ code: 'store_failed' });
    await fixture.platform.until(() => slow.waiting.length === 1);
    slow.waiting[0]?.refuse();
    await refused;
    expect(orders.get('1')).toMatchObject({ attributes: { a: 1, b: 1 }, isPending: false });
    expect([device.uploads.list(), device.status.getSnapshot().pendingUploads]).toEqual([[], 0]);
  });

  it('[UP-15] a change made while a page is being stored is neither lost nor shown twice', async () => {
    const slow = slowStore();
    const device = await synced({ store: slow.store });
    const orders = device.source('Order');
    await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { b: 5 } } });
    slow.slowDown(true);
    const sync = device.sync();
    await fixture.platform.until(() => slow.waiting.length === 1);
    const update = orders.update('1', { a: 2 });
    expect(orders.get('1')?.attributes).toEqual({ a: 2, b: 1 });
    slow.slowDown(false);
    slow.waiting[0]?.go();
    await fixture.finish(Promise.all([sync, update]));
    await fixture.finish(device.sync());
    expect(orders.get('1')).toMatchObject({ attributes: { a: 2, b: 5 }, isPending: false });
    expect(await onServer()).toMatchObject({ 1: { a: 2, b: 5 } });
  });

  it('[UP-15] a change that is not stored when its user signs out is taken back', async () => {
    const slow = slowStore();
    const device = await synced({ store: slow.store });
    fixture.platform.setOnline(false);
    slow.slowDown(true);
    const signOut = device.signOut();
    await fixture.platform.until(() => slow.waiting.length === 1);
    const late = expect(device.source('Order').update('1', { a: 2 })).rejects.toMatchObject({ code: 'signed_out' });
    slow.slowDown(false);
    slow.waiting[0]?.go();
    await fixture.finish(Promise.all([signOut, late]));
    expect(device.uploads.list()).toEqual([]);
  });
});

describe('merging of updates', () => {
  it('[UP-16] 1,000 updates of one object made without a network are one upload', async () => {
    const device = await synced();
    fixture.platform.setOnline(false);
    const orders = device.source('Order');
    for (let n = 1; n <= 500; n++) void orders.update('1', { a: `typed ${n}` });
    for (let n = 501; n <= 1_000; n++) await orders.update('1', { a: `typed ${n}`, b: undefined });
    expect(device.uploads.list()).toMatchObject([{ attributes: { a: 'typed 1000' }, removed: ['b'] }]);
    fixture.platform.setOnline(true);
    await fixture.finish(device.sync());
    expect(pushed()).toHaveLength(1);
    expect((await onServer())['1']).toEqual({ a: 'typed 1000' });
  });

  it('[UP-16] nothing is merged across other objects, creates and deletes, so their order stays', async () => {
    const device = await synced();
    fixture.platform.setOnline(false);
    const orders = device.source('Order');
    await orders.update('1', { a: 2 });
    await orders.update('2', { a: 2 });
    await orders.update('1', { a: 3 });
    await orders.create({ a: 1 }, { id: 'n' });
    await orders.update('n', { a: 2 });
    await orders.update('n', { a: 3 });
    await orders.delete('n');
    const looks = device.uploads.list().map(({ op, id, attributes }) => [op, id, attributes?.a]);
    expect(looks).toEqual([
      ['update', '1', 2],
      ['update', '2', 2],
      ['update', '1', 3],
      ['create', 'n', 1],
      ['update', 'n', 3],
      ['delete', 'n', undefined],
    ]);
  });

  it('[UP-16] an update that may have reached the server is not changed, also when its answer was lost', async () => {
    const device = await synced();
    const orders = device.source('Order');
    let sent = 0;
    fixture.intercept = ({ path }, go) => {
      if (path !== '/push') return undefined;
      sent++;
      if (sent > 1) return undefined;
      // The push is applied, the app writes meanwhile, and the answer is lost.
      return go().then(async () => {
        await orders.update('1', { a: 'second' });
        throw new TypeError('the connection broke');
      });
    };
    await orders.update('1', { a: 'first' });
    await fixture.platform.until(() => sent > 0);
    await orders.update('1', { a: 'third' });
    await fixture.platform.until(() => device.uploads.list().length === 0);
    await fixture.finish(device.sync());
    expect((await onServer())['1']).toEqual({ a: 'third', b: 1 });
    const first = pushed().filter(({ op_id: opId }) => opId === pushed()[0]?.op_id);
    for (const upload of first) expect(upload.attributes).toEqual({ a: 'first' });
  });

  it('[UP-16] updates made before a restart are not merged with later ones', async () => {
    const store = memoryStore();
    const kept = { load: () => store.load(), commit: store.commit, close: async () => undefined };
    const first = await synced({ store: kept });
    fixture.platform.setOnline(false);
    await first.source('Order').update('1', { a: 2 });
    await first.close();
    const second = await fixture.open({ store: kept, user: null });
    await second.source('Order').update('1', { a: 3 });
    expect(second.uploads.list().map(({ attributes }) => attributes)).toEqual([{ a: 2 }, { a: 3 }]);
  });
});

describe('removing an attribute', () => {
  it('[UP-17] an update with undefined removes the attribute here, at the server and on other devices', async () => {
    const device = await synced();
    const other = await synced();
    const orders = device.source<{ a: number; b?: number }>('Order');
    await orders.update('1', { b: undefined });
    expect(orders.get('1')?.attributes).toEqual({ a: 1 });
    await fixture.finish(device.sync());
    expect((await onServer())['1']).toEqual({ a: 1 });
    await fixture.finish(other.sync());
    expect(other.source('Order').get('1')?.attributes).toEqual({ a: 1 });
  });

  it('[UP-17] removing an attribute that is not there uploads nothing, and the last attribute cannot be removed', async () => {
    const device = await synced();
    fixture.platform.setOnline(false);
    await device.source('Order').update('1', { never: undefined });
    expect(device.uploads.list()).toEqual([]);
    const emptied = device.source('Order').update('2', { a: undefined });
    await expect(emptied).rejects.toMatchObject({ code: 'invalid_value' });
  });
});
