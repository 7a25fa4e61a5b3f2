import type { Page } from '@tidemark/protocol';
import { PULL_SOURCES_MAX } from '@tidemark/protocol';
import { newTidemark, refusalOf, type TestTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { DeviceId } from '../devices/device-id.ts';
import type { RenderedPage } from '../pages/read-page.ts';
import { pageJson } from '../pages/render-page.ts';
import { sharedPartition } from '../ports/owner.ts';
import type { Store } from '../ports/store.ts';
import type { DevicePull, DevicePullCall } from './pulls.ts';

type Told = Page | { readonly error: { readonly code: string; readonly detail: string } };

async function newDevice({ tidemark }: TestTidemark, user = 'ada'): Promise<DeviceId> {
  return { user, client: (await tidemark.clients.register(user, {})).client_id };
}

async function pull(
  { tidemark }: TestTidemark,
  device: DeviceId,
  tokens: Readonly<Record<string, string | null>>,
  more: Partial<DevicePullCall> = {},
): Promise<Record<string, Told>> {
  const answer = await tidemark.devices.pull(device, { sources: new Map(Object.entries(tokens)), ...more });
  await answer.noted;
  const pulled = answer.pages.map(({ source, page }) => {
    return [source, 'error' in page ? page : (JSON.parse(pageJson(page.token, page.body)) as Page)] as const;
  });
  return Object.fromEntries(pulled);
}

async function pullOne(test: TestTidemark, device: DeviceId, source: string, token: string | null, objectsMax = 5_000) {
  return (await pull(test, device, { [source]: token }, { objectsMax }))[source] as Page;
}

async function firstPage({ tidemark }: TestTidemark, device: DeviceId, source: string): Promise<RenderedPage> {
  const { value } = await (await tidemark.devices.snapshot(device, { source, token: null, objectsMax: 5_000 })).next();
  return (value as readonly RenderedPage[])[0] as RenderedPage;
}

const many = (count: number, from = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`o${from + index}`, { n: from + index }]));

const countOf = (page: Told | undefined) =>
  page === undefined || 'error' in page ? -1 : Object.keys(page.put ?? {}).length;

/** Makes every store call take until the next turn of the event loop, and counts calls made together as one round trip. */
function countRoundTrips(store: Store): () => number {
  let trips = 0;
  let turn: Promise<void> | null = null;
  const nextTurn = () => {
    trips++;
    return new Promise<void>((resolve) =>
      setImmediate(() => {
        turn = null;
        resolve();
      }),
    );
  };
  for (const name of ['readEntry', 'partition', 'listNotes', 'readNotes', 'readTidemark', 'readJournal'] as const) {
    const read = store[name].bind(store) as (...args: unknown[]) => Promise<unknown>;
    Object.assign(store, {
      [name]: async (...args: unknown[]) => {
        turn ??= nextTurn();
        await turn;
        return read(...args);
      },
    });
  }
  return () => trips;
}

describe('pulling', () => {
  it('[DEVICE-1] a pull delivers every source in one answer, each from its own token', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    await test.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { a: 1 } } });
    await test.tidemark.objects.push({ source: 'Product', objects: { p: { b: 1 } } });
    const first = await pull(test, device, { Order: null, Product: null });
    expect(first).toMatchObject({
      Order: { reset: true, put: { 1: { a: 1 } }, more: false },
      Product: { reset: true, put: { p: { b: 1 } }, more: false },
    });
    await test.tidemark.objects.push({ source: 'Product', objects: { p: { c: 1 } } });
    const tokens = { Order: (first.Order as Page).token, Product: (first.Product as Page).token };
    const second = await pull(test, device, tokens);
    expect(second.Order).toEqual({ token: tokens.Order, more: false, size: 1, checksum: expect.any(Number) });
    expect(second.Product).toMatchObject({ patch: { p: { c: 1 } }, more: false });
  });

  it('[DEVICE-11] a pull without news is one round trip to the store, however many sources it asks for', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    const names = ['Order', 'Product', 'A', 'B', 'C'];
    for (const name of names.slice(2)) await test.tidemark.sources.declare({ name, partition_type: 'app' });
    const ask = (tokens: Readonly<Record<string, string | null>>) => pull(test, device, tokens);
    const first = await ask(Object.fromEntries(names.map((name) => [name, null])));
    const tokens = Object.fromEntries(names.map((name) => [name, (first[name] as Page).token]));
    await ask(tokens);
    const trips = countRoundTrips(test.store);
    const again = await ask(tokens);
    expect(trips()).toBe(1);
    expect(Object.values(again).map((page) => (page as Page).token)).toEqual(Object.values(tokens));
  });

  it('[DEVICE-11] a pull notices that a source was changed or deleted since it was last read', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    const { sources } = test.tidemark;
    await sources.declare({ name: 'Moved', partition_type: 'app' });
    await test.tidemark.objects.push({ source: 'Moved', objects: { shared: { a: 1 } } });
    const before = await pullOne(test, device, 'Moved', null);
    expect(before.put).toEqual({ shared: { a: 1 } });
    await sources.drop('Moved');
    expect(await pull(test, device, { Moved: before.token })).toMatchObject({
      Moved: { error: { code: 'source_not_found' } },
    });
    await sources.declare({ name: 'Moved', partition_type: 'app' });
    await pullOne(test, device, 'Moved', before.token);
    await sources.drop('Moved');
    await sources.declare({ name: 'Moved', partition_type: 'user' });
    await test.tidemark.objects.push({ source: 'Moved', user_id: 'ada', objects: { own: { a: 1 } } });
    expect(await pullOne(test, device, 'Moved', before.token)).toMatchObject({ reset: true, put: { own: { a: 1 } } });
  });

  it('[DEVICE-2] a source that cannot be pulled does not spoil the others', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    await test.tidemark.sources.declare({ name: 'Bulk', partition_type: 'app', sync_type: 'bulk_only' });
    const pulled = await pull(test, device, { Nope: null, '*': null, Bulk: null, Product: null });
    expect(pulled).toMatchObject({
      Nope: { error: { code: 'source_not_found' } },
      '*': { error: { code: 'invalid_name' } },
      Bulk: { error: { code: 'snapshot_required', detail: expect.stringContaining('/sync/v1/sources/Bulk/snapshot') } },
      Product: { reset: true, more: false },
    });
    expect(await firstPage(test, device, 'Bulk')).toMatchObject({ more: false });
  });

  it('[DEVICE-3] sources share the size of an answer equally, and what one does not use goes to the next', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    for (const name of ['A', 'B', 'C', 'Idle']) await test.tidemark.sources.declare({ name, partition_type: 'app' });
    for (const [source, count] of [
      ['A', 100],
      ['B', 2],
      ['C', 100],
    ] as const) {
      await test.tidemark.objects.push({ source, objects: many(count) });
    }
    const idle = await pullOne(test, device, 'Idle', null);
    const pulled = await pull(test, device, { Idle: idle.token, A: null, B: null, C: null }, { objectsMax: 30 });
    expect([countOf(pulled.A), countOf(pulled.B), countOf(pulled.C)]).toEqual([10, 2, 18]);
    const alone = await pull(test, device, { Idle: idle.token, C: null }, { objectsMax: 30 });
    expect(countOf(alone.C)).toBe(30);
    // Every source makes progress, however small the answer may be.
    const crowd = await pull(test, device, { A: null, B: null, C: null }, { objectsMax: 1 });
    expect([countOf(crowd.A), countOf(crowd.B), countOf(crowd.C)]).toEqual([1, 1, 1]);
  });

  it('[DEVICE-3] sources share the text of an answer like its objects', async () => {
    const test = await newTidemark({ limits: { pageUnitsMax: 4_000 } });
    const device = await newDevice(test);
    await test.tidemark.sources.declare({ name: 'A', partition_type: 'app' });
    const objects = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`o${index}`, { t: 'x'.repeat(180) }]));
    for (const source of ['A', 'Product']) await test.tidemark.objects.push({ source, objects });
    const pulled = await pull(test, device, { A: null, Product: null });
    expect(Math.abs(countOf(pulled.A) - countOf(pulled.Product))).toBeLessThanOrEqual(1);
    expect(countOf(pulled.A)).toBeGreaterThan(5);
    expect(countOf(pulled.A) + countOf(pulled.Product)).toBeLessThanOrEqual(22);
  });

  it('[DEVICE-4] a pull is refused for a device of another user, and delivers only the user’s own data', async () => {
    const test = await newTidemark();
    const ada = await newDevice(test, 'ada');
    const bob = await newDevice(test, 'bob');
    await test.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { secret: { a: 1 } } });
    const { token } = await pullOne(test, ada, 'Order', null);
    expect(await refusalOf(pull(test, { user: 'bob', client: ada.client }, { Order: token }))).toBe('client_not_found');
    expect(await refusalOf(pull(test, { user: 'ada', client: 'none' }, { Order: token }))).toBe('client_not_found');
    expect(await pullOne(test, bob, 'Order', token)).toMatchObject({ reset: true, size: 0, more: false });
  });

  it('[DEVICE-5] a pull of too many sources, or with an illegal number of objects, is refused', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    const sources = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, null]));
    expect(await refusalOf(pull(test, device, sources(PULL_SOURCES_MAX + 1)))).toBe('limit_exceeded');
    expect(Object.keys(await pull(test, device, sources(PULL_SOURCES_MAX))).length).toBe(PULL_SOURCES_MAX);
    for (const objectsMax of [0, -1, 1.5]) {
      expect(await refusalOf(pull(test, device, { Order: null }, { objectsMax }))).toBe('invalid_value');
    }
  });

  it('[DEVICE-6] a pull records the last sync and the tidemark of the device', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    await test.tidemark.objects.push({ source: 'Product', objects: many(3) });
    expect(await test.tidemark.devices.cursors(device)).toEqual({});
    const first = await pullOne(test, device, 'Product', null, 2);
    const seen_at = '2023-11-14T22:13:20.000Z';
    expect(await test.tidemark.clients.get(device.client)).toMatchObject({ last_sync: seen_at });
    expect(await test.tidemark.devices.cursors(device)).toEqual({ Product: { seq: 0, base: null, head: 3, seen_at } });
    const second = await pullOne(test, device, 'Product', first.token);
    await pullOne(test, device, 'Product', second.token);
    expect(await test.tidemark.devices.cursors(device)).toEqual({ Product: { seq: 3, base: 3, head: 3, seen_at } });
  });
});

describe('a device at rest', () => {
  it('[DEVICE-10] the tidemark of a device without news is recorded once an hour, and at once when it moves', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    await test.tidemark.objects.push({ source: 'Product', objects: many(3) });
    const { token } = await pullOne(test, device, 'Product', null);
    let looks = 0;
    const { readTidemark } = test.store;
    test.store.readTidemark = (key, client) => {
      looks += 1;
      return readTidemark.call(test.store, key, client);
    };
    const place = sharedPartition('Product');
    for (let count = 0; count < 5; count++) await pullOne(test, device, 'Product', token);
    expect(looks).toBe(1);
    const before = await readTidemark.call(test.store, place, device.client);
    test.clock.advance(3_600_000);
    await pullOne(test, device, 'Product', token);
    const after = await readTidemark.call(test.store, place, device.client);
    expect([looks, (after?.seenAtMs ?? 0) - (before?.seenAtMs ?? 0)]).toEqual([2, 3_600_000]);
    await test.tidemark.objects.push({ source: 'Product', objects: { o1: { n: 'new' } } });
    const next = await pullOne(test, device, 'Product', token);
    await pullOne(test, device, 'Product', next.token);
    expect(await readTidemark.call(test.store, place, device.client)).toMatchObject({ seq: 4, base: 4 });
    // A device that goes back to an older token is recorded with it.
    await pullOne(test, device, 'Product', token);
    expect(await readTidemark.call(test.store, place, device.client)).toMatchObject({ seq: 3, base: 3 });
  });
});

describe('starting over', () => {
  it('[DEVICE-7] a device that is told to start over does so, whatever token it holds, until it has a new one', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    const other = await newDevice(test);
    await test.tidemark.objects.push({ source: 'Product', objects: many(5) });
    const half = await pullOne(test, device, 'Product', null, 2);
    const whole = await pullOne(test, device, 'Product', half.token);
    const others = await pullOne(test, other, 'Product', null);
    expect(await test.tidemark.devices.restart(device)).toEqual(['Order', 'Product']);
    for (const { token } of [half, whole, whole]) {
      expect(await pullOne(test, device, 'Product', token, 2)).toMatchObject({ reset: true, more: true });
    }
    const again = await pullOne(test, device, 'Product', whole.token, 2);
    const rest = await pullOne(test, device, 'Product', again.token);
    expect([rest.reset, rest.more, Object.keys(rest.put ?? {})]).toEqual([undefined, false, ['o2', 'o3', 'o4']]);
    expect((await pullOne(test, device, 'Product', rest.token)).reset).toBeUndefined();
    expect((await pullOne(test, other, 'Product', others.token)).reset).toBeUndefined();
    expect(await test.tidemark.devices.restart(device, ['Product', 'Product'])).toEqual(['Product']);
    expect(await pullOne(test, device, 'Product', rest.token)).toMatchObject({ reset: true });
    expect(await refusalOf(test.tidemark.devices.restart(device, ['Nope']))).toBe('source_not_found');
    const stranger = { ...device, user: 'bob' };
    expect(await refusalOf(test.tidemark.devices.restart(stranger))).toBe('client_not_found');
  });

  it('[DEVICE-8] cd has what the device has acknowledged, and writing it makes the device start over', async () => {
    const test = await newTidemark();
    const { tidemark } = test;
    const device = await newDevice(test);
    const scope = { kind: 'client', source: 'Product', client: device.client } as const;
    const cd = async () => {
      const view = await tidemark.documents.read(scope, 'cd');
      return view.type === 'objects' ? [...view.objects.keys()] : view;
    };
    expect([await cd(), await tidemark.documents.names(scope)]).toEqual([[], ['cd']]);
    await tidemark.objects.push({ source: 'Product', objects: many(3) });
    const first = await pullOne(test, device, 'Product', null, 2);
    expect(await cd()).toEqual([]);
    test.clock.advance(1_000);
    const second = await pullOne(test, device, 'Product', first.token, 2);
    expect(await cd()).toEqual(['o0', 'o1']);
    await pullOne(test, device, 'Product', second.token);
    expect(await cd()).toEqual(['o0', 'o1', 'o2']);
    await tidemark.objects.push({ source: 'Product', objects: { o1: { n: 'new' }, o9: { n: 9 } } });
    await tidemark.objects.pushDeletes({ source: 'Product', objects: ['o2'] });
    expect(await cd()).toEqual(['o0']);
    const now = await pullOne(test, device, 'Product', second.token);
    expect(await tidemark.documents.write(scope, 'cd', { data: {} })).toEqual({ doc: 'cd', type: 'objects', size: 0 });
    expect(await cd()).toEqual([]);
    expect(await pullOne(test, device, 'Product', now.token)).toMatchObject({ reset: true });
    expect(await refusalOf(tidemark.documents.write(scope, 'cd', { data: 'text' }))).toBe('type_conflict');
    expect(await refusalOf(tidemark.documents.write(scope, 'cd', { data: { 1: 'x' } }))).toBe('invalid_request');
  });
});

describe('shared pages', () => {
  it('[DEVICE-9] a shared page is made once for all devices at the same position, and again after a change', async () => {
    const test = await newTidemark();
    const devices = [await newDevice(test, 'ada'), await newDevice(test, 'bob'), await newDevice(test, 'ada')];
    await test.tidemark.objects.push({ source: 'Product', objects: many(5) });
    let reads = 0;
    const { readJournal } = test.store;
    test.store.readJournal = (key, range) => {
      reads += 1;
      return readJournal.call(test.store, key, range);
    };
    const first = await Promise.all(devices.map((device) => pullOne(test, device, 'Product', null)));
    expect(reads).toBe(1);
    expect(first.map(({ put }) => put)).toEqual(devices.map(() => many(5)));
    const body = async (device: DeviceId) => (await firstPage(test, device, 'Product')).body;
    expect(await body(devices[0] as DeviceId)).toBe(await body(devices[1] as DeviceId));
    await test.tidemark.objects.push({ source: 'Product', objects: { o1: { n: 'new' } } });
    const tokens = first.map(({ token }) => token);
    const second = await Promise.all(devices.map((device, at) => pullOne(test, device, 'Product', tokens[at] ?? null)));
    expect(reads).toBe(2);
    for (const page of second) expect(page.patch).toEqual({ o1: { n: 'new' } });
    await test.tidemark.devices.restart(devices[0] as DeviceId);
    const pulled = await pullOne(test, devices[0] as DeviceId, 'Product', second[0]?.token ?? null);
    expect(pulled).toMatchObject({ reset: true, put: { o1: { n: 'new' } } });
    expect((await pullOne(test, devices[0] as DeviceId, 'Product', pulled.token)).reset).toBeUndefined();
  });

  /** Pages of two objects of a first sync, with what is sent of each: the large part of its body. */
  async function firstSync(test: TestTidemark, device: DeviceId) {
    const pages: { page: Page; body: RenderedPage['body'] }[] = [];
    for (let token: string | null = null, more = true; more; ) {
      const pull: DevicePull = await test.tidemark.devices.pull(device, {
        sources: new Map([['Product', token]]),
        objectsMax: 2,
      });
      const rendered = pull.pages[0]?.page as RenderedPage;
      pages.push({ page: JSON.parse(pageJson(rendered.token, rendered.body)) as Page, body: rendered.body });
      ({ token, more } = rendered);
    }
    const { checksum } = await test.store.partition(sharedPartition('Product'));
    const held = new Map<string, unknown>();
    for (const { page } of pages) {
      for (const id of page.delete ?? []) held.delete(id);
      for (const [id, object] of Object.entries(page.put ?? {})) held.set(id, object);
    }
    expect(pages.at(-1)?.page.checksum).toBe(checksum);
    return { pages: pages.map(({ page }) => page), held, bytes: pages.map(({ body }) => body.parts[1]) };
  }

  it('[DEVICE-9] pages of a first sync survive pushes of new objects, and tell the new size', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    await test.tidemark.objects.push({ source: 'Product', objects: many(6) });
    const before = await firstSync(test, device);
    await test.tidemark.objects.push({ source: 'Product', objects: { o9: { n: 9 } } });
    const after = await firstSync(test, device);
    expect(after.pages.map(({ size }) => size)).toEqual([7, 7, 7, 7]);
    for (const page of [0, 1]) expect(after.bytes[page]).toBe(before.bytes[page]);
    expect(Object.fromEntries(after.held)).toEqual({ ...many(6), o9: { n: 9 } });
    const again = await firstSync(test, device);
    for (const page of [0, 1, 2, 3]) expect(again.bytes[page]).toBe(after.bytes[page]);
  });

  it('[DEVICE-9] a push that changes an object replaces only the pages that have it', async () => {
    const test = await newTidemark();
    const [device, other] = [await newDevice(test), await newDevice(test, 'bob')];
    await test.tidemark.objects.push({ source: 'Product', objects: many(8) });
    const before = await firstSync(test, device);
    await test.tidemark.objects.push({ source: 'Product', objects: { o3: { n: 'new' } } });
    const after = await firstSync(test, other);
    expect(after.pages.map(({ put }) => Object.keys(put ?? {}))).toEqual([
      ['o0', 'o1'],
      ['o2'],
      ['o4', 'o5'],
      ['o6', 'o7'],
      ['o3'],
    ]);
    for (const page of [0, 2]) expect(after.bytes[page]).toBe(before.bytes[page]);
    expect(Object.fromEntries(after.held)).toEqual({ ...many(8), o3: { n: 'new' } });
  });

  it('[DEVICE-9] a deleted object is on no cached page of a first sync, and emptied pages are filled up', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    await test.tidemark.objects.push({ source: 'Product', objects: many(8) });
    await firstSync(test, device);
    await test.tidemark.objects.pushDeletes({ source: 'Product', objects: ['o2', 'o3'] });
    const { pages } = await firstSync(test, device);
    expect(pages.map(({ put }) => Object.keys(put ?? {}))).toEqual([
      ['o0', 'o1'],
      ['o4', 'o5'],
      ['o6', 'o7'],
    ]);
  });

  it('[DEVICE-9] a device in the middle of its first sync gets deletions made since, whatever others have cached', async () => {
    const test = await newTidemark();
    const [slow, fast] = [await newDevice(test), await newDevice(test, 'bob')];
    await test.tidemark.objects.push({ source: 'Product', objects: many(4) });
    const first = await pullOne(test, slow, 'Product', null, 2);
    await test.tidemark.objects.pushDeletes({ source: 'Product', objects: ['o0'] });
    await test.tidemark.objects.push({ source: 'Product', objects: { o5: { n: 5 }, o6: { n: 6 }, o7: { n: 7 } } });
    await firstSync(test, fast);
    const deleted: string[] = [];
    for (let token = first.token, more = true; more; ) {
      const page = await pullOne(test, slow, 'Product', token, 2);
      deleted.push(...(page.delete ?? []));
      ({ token, more } = page);
    }
    expect(deleted).toEqual(['o0']);
  });

  it('[DEVICE-9] pages of a user’s own data are not cached', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    await test.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: many(2) });
    const body = async () => (await firstPage(test, device, 'Order')).body;
    expect(await body()).not.toBe(await body());
  });

  it('[DEVICE-9] the page cache stays within its bound', async () => {
    const test = await newTidemark({ limits: { pageCacheUnitsMax: 300 } });
    const device = await newDevice(test);
    for (const name of ['A', 'B']) await test.tidemark.sources.declare({ name, partition_type: 'app' });
    for (const source of ['A', 'B'])
      await test.tidemark.objects.push({ source, objects: { 1: { t: 'x'.repeat(200) } } });
    const body = async (source: string) => (await firstPage(test, device, source)).body;
    const first = await body('A');
    expect(await body('A')).toBe(first);
    await body('B');
    expect(await body('A')).not.toBe(first);
  });
});
