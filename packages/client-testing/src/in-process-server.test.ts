import { memoryStore } from '@tidemark/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { conflict, localStoreCases, openTestServer, rejected, type TestBackendCall } from './index.ts';

async function start(options: Partial<Parameters<typeof openTestServer>[0]> = {}) {
  const server = await openTestServer({ sources: [{ name: 'Order' }], users: ['ada', 'bob'], ...options });
  onTestFinished(() => server.close());
  return server;
}

/** Resolves when the condition holds for what the device shows. */
function until(device: Awaited<ReturnType<typeof open>>, condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (condition()) resolve();
    };
    device.source('Order').subscribe(look);
    device.status.subscribe(look);
    device.problems.subscribe(look);
    look();
  });
}

async function open(server: Awaited<ReturnType<typeof start>>, user = 'ada') {
  const device = await server.openDevice({ user });
  await device.sync();
  return device;
}

/** As `@tidemark/backend` has it. */
class Rejected extends Error {
  override readonly name = 'Rejected';
}

describe('groups and backends of the test server', () => {
  it('[KIT-20] members of a group share its objects, and lose them when they leave it', async () => {
    const server = await start({
      sources: [{ name: 'Order', partition_type: 'group' }],
      groups: { north: ['ada', 'bob'], south: ['bob'] },
    });
    await server.push('Order', { o1: { total: 1 } }, { group: 'north' });
    await server.push('Order', { o2: { total: 2 } }, { group: 'south' });
    const [ada, bob] = [await open(server), await open(server, 'bob')];
    const ids = (device: typeof ada) =>
      device
        .source('Order')
        .list()
        .map(({ id }) => id);
    expect([ids(ada), ids(bob)]).toEqual([['o1'], ['o1', 'o2']]);
    await ada.source('Order').update('o1', { total: 7 });
    await ada.sync();
    expect(await server.objects('Order', { group: 'north' })).toEqual({ o1: { total: 7 } });
    await server.setGroups('bob', ['south']);
    await bob.sync();
    expect(ids(bob)).toEqual(['o2']);
  });

  it('[KIT-21] a backend gives objects its own ids, rejects changes and finds conflicts, as on the server', async () => {
    const seen: TestBackendCall[] = [];
    const backend = {
      create: (call: TestBackendCall) => {
        seen.push(call);
        return { id: 101 };
      },
      update: () => {
        throw rejected('the order is closed');
      },
      delete: () => {
        throw conflict('somebody has changed it');
      },
    };
    const server = await start({ sources: [{ name: 'Order', backend }] });
    const device = await open(server);
    const linked: unknown[] = [];
    device.on('linked', (link) => linked.push(link));
    const { id } = await device.source('Order').create({ total: 1 });
    await device.sync();
    expect(seen).toEqual([
      { source: 'Order', user_id: 'ada', op_id: expect.any(String), id, attributes: { total: 1 } },
    ]);
    expect(linked).toEqual([expect.objectContaining({ from: id, to: '101' })]);
    expect(await server.objects('Order', { user: 'ada' })).toEqual({ 101: { total: 1 } });
    await device.source('Order').update('101', { total: 2 });
    await device.sync();
    await device.source('Order').delete('101');
    await device.sync();
    expect(device.problems.list().map(({ error }) => error.detail)).toEqual([
      'the order is closed',
      'somebody has changed it',
    ]);
    expect(device.source('Order').get('101')?.attributes).toEqual({ total: 1 });
  });

  it('[KIT-21] the calls of a backend name the group, and an error named Conflict is a conflict', async () => {
    const seen = new Set<string>();
    const backend = {
      query: ({ group }: { readonly group?: string }) => {
        seen.add(`query ${group}`);
        return { o1: { total: 1 } };
      },
      update: ({ group }: TestBackendCall) => seen.add(`update ${group}`),
      delete: ({ group }: TestBackendCall) => {
        seen.add(`delete ${group}`);
        throw Object.assign(new Error('somebody has changed it'), { name: 'Conflict' });
      },
    };
    const source = { name: 'Order', partition_type: 'group', backend } as const;
    const server = await start({ sources: [source], groups: { north: ['ada'] } });
    const device = await open(server);
    await device.source('Order').update('o1', { total: 2 });
    await until(device, () => device.status.getSnapshot().pendingUploads === 0);
    await device.source('Order').delete('o1');
    await until(device, () => device.problems.list().length > 0);
    expect([...seen]).toEqual(['query north', 'update north', 'delete north']);
    expect(device.problems.list().map(({ error }) => error.detail)).toEqual(['somebody has changed it']);
  });

  it('[KIT-21] handlers of @tidemark/backend fit, their data is asked for at every sync, and failures are tried again', async () => {
    let failures = 2;
    const orders = new Map([['1', { total: 1 }]]);
    const backend = {
      query: () => Object.fromEntries(orders),
      update: ({ id, attributes }: { id: string; attributes: object }) => {
        if ('note' in attributes) throw new Rejected('no notes');
        if (failures-- > 0) throw new Error('the database is away');
        orders.set(id, { ...orders.get(id), ...attributes } as { total: number });
      },
    };
    const server = await start({ sources: [{ name: 'Order', backend }] });
    const device = await open(server);
    expect(device.source('Order').get('1')?.attributes).toEqual({ total: 1 });
    await device.source('Order').update('1', { total: 2 });
    await until(device, () => device.status.getSnapshot().pendingUploads === 0);
    expect([orders.get('1'), failures]).toEqual([{ total: 2 }, -1]);
    orders.set('2', { total: 9 });
    await device.sync();
    expect(device.source('Order').get('2')?.attributes).toEqual({ total: 9 });
    await device.source('Order').update('1', { note: 'x' });
    await device.sync();
    expect(device.problems.list().map(({ error }) => error.detail)).toEqual(['no notes']);
  });
});

describe('the test server', () => {
  it('[KIT-1] what a device changes offline is on the server once it is online', async () => {
    const server = await start();
    const device = await open(server);
    server.network.goOffline();
    const order = await device.source('Order').create({ total: 12 });
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'offline', pendingUploads: 1 });
    expect(await server.objects('Order', { user: 'ada' })).toEqual({});
    server.network.goOnline();
    await device.sync();
    expect(await server.objects('Order', { user: 'ada' })).toEqual({ [order.id]: { total: 12 } });
    expect(await server.objects('Order', { user: 'bob' })).toEqual({});
  });

  it('[KIT-1] devices of one user see what the server and others change, as it happens', async () => {
    const server = await start();
    const [phone, laptop] = [await open(server), await open(server)];
    await until(laptop, () => laptop.status.getSnapshot().isLive);
    await phone.source('Order').create({ total: 1 }, { id: 'o1' });
    await until(laptop, () => laptop.source('Order').get('o1')?.attributes.total === 1);
    await server.push('Order', { o1: { total: 2 } }, { user: 'ada' });
    await until(laptop, () => laptop.source('Order').get('o1')?.attributes.total === 2);
    await server.remove('Order', ['o1'], { user: 'ada' });
    await until(laptop, () => laptop.source('Order').get('o1') === undefined);
  });

  it('[KIT-2] on a slow network that loses and doubles messages every change is applied exactly once', async () => {
    const server = await start({ seed: 5 });
    const device = await open(server);
    server.network.set({ delayMs: 200, lostRequests: 0.2, lostAnswers: 0.2, doubledRequests: 0.3 });
    const ids: string[] = [];
    for (let number = 0; number < 8; number++) {
      ids.push((await device.source('Order').create({ number })).id);
      await until(device, () => device.status.getSnapshot().pendingUploads === 0);
    }
    server.network.reset();
    await device.sync();
    expect(Object.keys(await server.objects('Order', { user: 'ada' })).sort()).toEqual(ids.sort());
    expect(device.problems.list()).toEqual([]);
  });

  it('[KIT-2] a lost answer leaves the change on the server and in the queue of the device; a doubled request is applied once', async () => {
    const server = await start();
    const device = await open(server);
    const pushes = () => server.requests.filter(({ path }) => path === '/push').length;
    server.network.set({ lostAnswers: 1 });
    await device.source('Order').create({ total: 1 }, { id: 'o1' });
    const held = () => server.objects('Order', { user: 'ada' });
    await expect.poll(held, { interval: 5 }).toEqual({ o1: { total: 1 } });
    await until(device, () => device.status.getSnapshot().error !== null);
    expect(device.uploads.list()).toHaveLength(1);
    server.network.set({ lostAnswers: 0, doubledRequests: 1 });
    await until(device, () => device.status.getSnapshot().pendingUploads === 0);
    const before = pushes();
    await device.source('Order').create({ total: 2 }, { id: 'o2' });
    await until(device, () => device.status.getSnapshot().pendingUploads === 0);
    expect(pushes() - before).toBeGreaterThanOrEqual(2);
    expect(await held()).toEqual({ o1: { total: 1 }, o2: { total: 2 } });
    expect(device.problems.list()).toEqual([]);
  });

  it('[KIT-2] a cut stops what is under way, and the device tries again by itself', async () => {
    const server = await start();
    const device = await open(server);
    await until(device, () => device.status.getSnapshot().isLive);
    server.network.set({ delayMs: 50_000 });
    const sync = device.sync().catch((error) => error.code);
    await expect.poll(() => server.network.underWay, { interval: 5 }).toBeGreaterThanOrEqual(2);
    server.network.cut();
    expect(await sync).toBe('unreachable');
    server.network.set({ delayMs: 0 });
    await server.push('Order', { o1: { total: 2 } }, { user: 'ada' });
    await until(device, () => device.source('Order').get('o1') !== undefined);
  });

  it('[KIT-1] conflicts, read-only sources and ended sessions are those of the real server', async () => {
    const server = await start({
      sources: [
        { name: 'Order', conflicts: 'detect' },
        { name: 'Product', partition_type: 'app', read_only: true },
      ],
    });
    await server.push('Product', { p1: { name: 'Compass' } });
    await server.push('Order', { o1: { total: 1 } }, { user: 'ada' });
    const device = await open(server);
    expect(device.source('Product').get('p1')?.attributes).toEqual({ name: 'Compass' });
    await expect(device.source('Product').delete('p1')).rejects.toMatchObject({ code: 'source_read_only' });
    server.network.goOffline();
    await device.source('Order').update('o1', { total: 2 });
    await server.push('Order', { o1: { total: 3 } }, { user: 'ada' });
    server.network.goOnline();
    await until(device, () => device.problems.list().length === 1);
    expect(device.problems.list()[0]).toMatchObject({ status: 'conflict', current: { total: 3 } });
    server.endSessions();
    device.sync().catch(() => undefined);
    await until(device, () => device.status.getSnapshot().mode === 'needs_sign_in');
  });
});

describe('the contract of local stores', () => {
  it('[KIT-3] a store that loses a deletion or answers after close breaks a case', async () => {
    const broken = () => {
      const store = memoryStore();
      return {
        load: () => store.load(),
        commit: (writes: Parameters<typeof store.commit>[0]) =>
          store.commit(writes.filter(({ value }) => value !== undefined)),
        close: async () => undefined,
      };
    };
    const failed: string[] = [];
    for (const { title, run } of localStoreCases) {
      const place = { open: async () => broken(), remove: async () => undefined };
      await run({ isDurable: false, newPlace: async () => place }).catch(() =>
        failed.push(title.slice(1, title.indexOf(']'))),
      );
    }
    expect(failed).toEqual(['LOCAL-3', 'LOCAL-8', 'LOCAL-11', 'LOCAL-4', 'LOCAL-5']);
  });
});

it('[FILES-96] the server takes and gives files, on the network that the test controls', async () => {
  const server = await openTestServer({ sources: [{ name: 'Visit' }], users: ['ada', 'bob'] });
  const [camera, office] = [await server.openDevice({ user: 'ada' }), await server.openDevice({ user: 'ada' })];
  const stranger = await server.openDevice({ user: 'bob' });
  server.network.set({ lostAnswers: 0.3 });
  const file = await camera.files.add(new Uint8Array(500_000).fill(7), { type: 'image/jpeg' });
  await expect.poll(() => camera.files.waiting.getSnapshot(), { timeout: 60_000 }).toEqual([]);
  expect([...server.files.keys()]).toEqual([file.$file.sha256]);
  server.network.set({ lostAnswers: 0 });
  await expect(office.files.blob(file)).rejects.toMatchObject({ code: 'file_not_found' });
  await camera.source('Visit').create({ photo: file });
  await camera.sync();
  expect((await office.files.blob(file)).size).toBe(500_000);
  await expect(stranger.files.blob(file)).rejects.toMatchObject({ code: 'file_not_found' });
  await server.close();
});
