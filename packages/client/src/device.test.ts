import type { Device, LocalStore } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { memoryStore } from './stores/memory-store.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
});

const push = (objects: Record<string, Record<string, unknown>>, source = 'Order') =>
  fixture.tidemark.objects.push({ source, user_id: 'ada', objects });

const drop = (objects: readonly string[], source = 'Order') =>
  fixture.tidemark.objects.pushDeletes({ source, user_id: 'ada', objects });

const seen = (device: Device, source = 'Order') =>
  Object.fromEntries(
    device
      .source(source)
      .list()
      .map(({ id, attributes }) => [id, attributes]),
  );

const onServer = async (source = 'Order') =>
  Object.fromEntries(await fixture.tidemark.objects.read({ source, user_id: 'ada' }));

describe('reading', () => {
  it('[SDK-1] after sync() the device has the state of the server, of every source', async () => {
    await push({ 1: { a: 1 }, constructor: { toString: 'x' } });
    await push({ p: { name: 'Compass' } }, 'Product');
    const device = await fixture.open();
    await fixture.finish(device.sync());
    expect(seen(device)).toEqual({ 1: { a: 1 }, constructor: { toString: 'x' } });
    expect(seen(device, 'Product')).toEqual({ p: { name: 'Compass' } });
    await push({ 1: { a: 2, b: 3 } });
    await drop(['constructor']);
    await fixture.finish(device.sync());
    expect(seen(device)).toEqual({ 1: { a: 2, b: 3 } });
    expect(device.source('Order').get('constructor')).toBeUndefined();
  });

  it('[SDK-2] values and lists stay the same until something changes', async () => {
    await push({ 1: { a: 1 }, 2: { a: 2 } });
    const device = await fixture.open();
    await fixture.finish(device.sync());
    const source = device.source('Order');
    const [list, one, two] = [source.list(), source.get('1'), source.get('2')];
    let calls = 0;
    source.subscribe(() => calls++);
    await fixture.finish(device.sync());
    expect([source.list() === list, calls]).toEqual([true, 0]);
    await push({ 1: { a: 7 } });
    await fixture.finish(device.sync());
    expect(calls).toBe(1);
    expect(source.list()).not.toBe(list);
    expect(source.get('1')).not.toBe(one);
    expect(source.get('2')).toBe(two);
    expect(() => Object.assign(source.get('2')?.attributes ?? {}, { a: 3 })).toThrow();
  });

  it('[SDK-3] stored data is available before the device reaches the server', async () => {
    await push({ 1: { a: 1 } });
    const store = memoryStore();
    const first = await fixture.open({ store: keptOpen(store) });
    await fixture.finish(first.sync());
    await fixture.finish(first.close());
    fixture.platform.setOnline(false);
    const second = await fixture.open({ store, user: null });
    expect(seen(second)).toEqual({ 1: { a: 1 } });
    expect(second.status.getSnapshot()).toMatchObject({ mode: 'offline', userId: 'ada' });
  });
});

describe('writing', () => {
  it('[SDK-4] changes are visible at once, and reach the server when there is a network', async () => {
    const device = await fixture.open();
    await fixture.finish(device.sync());
    fixture.platform.setOnline(false);
    const orders = device.source<{ a: number; b?: string }>('Order');
    const made = await fixture.finish(orders.create({ a: 1 }));
    expect(made).toMatchObject({ attributes: { a: 1 }, isPending: true });
    expect(made.id).toMatch(/^[0-9a-f]{32}$/);
    await fixture.finish(orders.update(made.id, { b: 'x' }));
    expect(seen(device)).toEqual({ [made.id]: { a: 1, b: 'x' } });
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'offline', pendingUploads: 2 });
    await expect(device.sync()).rejects.toMatchObject({ code: 'offline' });
    expect(await onServer()).toEqual({});
    fixture.platform.setOnline(true);
    await fixture.finish(device.sync());
    expect(await onServer()).toEqual({ [made.id]: { a: 1, b: 'x' } });
    expect(orders.get(made.id)).toMatchObject({ attributes: { a: 1, b: 'x' }, isPending: false });
    expect(device.uploads.list()).toEqual([]);
    await fixture.finish(orders.delete(made.id));
    expect(orders.get(made.id)).toBeUndefined();
    await fixture.finish(device.sync());
    expect(await onServer()).toEqual({});
  });
});

describe('closing', () => {
  const never = () => new Promise<never>(() => undefined);
  const unanswered = { code: 'store_failed', detail: expect.stringMatching(/has not answered/) };

  it('[SDK-29] a device that is closed while its store loads objects and never ends says so, and the change that waits for them is not reported as stored', async () => {
    const kept = memoryStore();
    const first = await fixture.open({ store: keptOpen(kept) });
    await fixture.finish(first.close());
    const results = { table: 'facts', key: ['', 'last_results'], value: [['Order', '1', { a: 1 }]] } as const;
    await kept.commit([results]);
    const store: LocalStore = {
      ...keptOpen(kept),
      load: async (onFirst) => {
        onFirst?.(await kept.load());
        return never();
      },
    };
    const device = await fixture.open({ store, user: null, start: 'last_results' });
    expect(device.status.getSnapshot().isLoading).toBe(true);
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    device.source('Order').update('1', { a: 2 }).then(settle, settle);
    await expect(fixture.finish(device.close())).rejects.toMatchObject(unanswered);
    expect(isSettled).toBe(false);
  });

  it('[SDK-29] a device that is closed while its store never ends a commit says so', async () => {
    const store = memoryStore();
    const device = await fixture.open({ store });
    store.commit = never;
    void device.source('Order').create({ a: 1 });
    await expect(fixture.finish(device.close())).rejects.toMatchObject(unanswered);
  });

  it('[SDK-29] a device that is closed again waits until its slow store has answered', async () => {
    const store = memoryStore();
    const { commit } = store;
    const device = await fixture.open({ store });
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    store.commit = (...args) => answered.then(() => commit(...args));
    const saved = device.source('Order').create({ a: 1 });
    await expect(fixture.finish(device.close())).rejects.toMatchObject(unanswered);
    const again = device.close();
    answer();
    await fixture.finish(again);
    await saved;
  });
});

/** A store that stays open when its device is closed. */
function keptOpen(store: ReturnType<typeof memoryStore>): ReturnType<typeof memoryStore> {
  return { load: () => store.load(), commit: (writes) => store.commit(writes), close: async () => undefined };
}
