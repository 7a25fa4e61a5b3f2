import { type DeviceOptions, type DeviceStatus, memoryStore, openDevice } from '@tidemark/client';
import { openTestServer } from '@tidemark/client-testing';
import { tabsInMemory } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { FIRST_SYNC_PART_OBJECTS } from '../limits.ts';
import type { LocalStore } from '../ports/local-store.ts';

/** Objects that take three parts. */
const OBJECTS = FIRST_SYNC_PART_OBJECTS * 2 + 10;

const objects = Object.fromEntries(Array.from({ length: OBJECTS }, (_, index) => [`o${index}`, { n: index }]));

async function openServer() {
  const server = await openTestServer({ sources: [{ name: 'Order' }], users: ['ada'] });
  await server.push('Order', objects, { user: 'ada' });
  return server;
}

type Server = Awaited<ReturnType<typeof openServer>>;

/** Opens a device that is offline until it is watched. */
async function openOffline(server: Server, options: Partial<DeviceOptions> = {}) {
  const device = await server.openDevice({ live: false, ...options });
  device.goOffline();
  return device;
}

const signIn = { login: 'ada', password: 'password' };

/** Ways in which the pages of a first sync come: one page, several pulls, a snapshot. */
const WAYS: readonly Partial<DeviceOptions>[] = [{}, { pageObjects: 700, snapshots: false }, { pageObjects: 5 }];

/**
 * A store that dies at a commit, and can be opened again. Of the repeatable commits that no other commit has made durable,
 * the last ones are lost then.
 */
function mortalStore(kept: LocalStore, diesAt: number, lost = 0): LocalStore {
  let commits = 0;
  let unflushed: Parameters<LocalStore['commit']>[0][] = [];
  const flush = async (count: number) => {
    for (const writes of unflushed.slice(0, count)) await kept.commit(writes);
    unflushed = [];
  };
  return {
    load: () => kept.load(),
    commit: async (writes, { isRepeatable = false } = {}) => {
      if (commits >= diesAt) throw new Error('the process is dead');
      commits++;
      unflushed.push(writes);
      if (!isRepeatable) await flush(unflushed.length);
    },
    close: () => flush(Math.max(0, unflushed.length - lost)),
  };
}

describe('a first sync', () => {
  it.each(WAYS)('[SDK-23] the app sees a first sync when it is complete, and its progress before (%o)', async (way) => {
    const server = await openServer();
    const device = await openOffline(server, way);
    const sizes: number[] = [];
    const progress: DeviceStatus['progress'][] = [];
    device.source('Order').subscribe(() => sizes.push(device.source('Order').list().length));
    device.status.subscribe(() => progress.push(device.status.getSnapshot().progress));
    device.goOnline();
    await device.signIn(signIn);
    await device.sync();
    expect(sizes).toEqual([OBJECTS]);
    expect(device.status.getSnapshot()).toMatchObject({ progress: null, heals: 0 });
    const seen = progress.flatMap((one) => one?.sources.get('Order') ?? []);
    expect(seen.length).toBeGreaterThan(1);
    expect(seen.every(({ total }) => total === OBJECTS)).toBe(true);
    const counts = seen.map((one) => one.objects);
    expect(counts).toEqual([...counts].sort((left, right) => left - right));
    expect(seen.at(-1)?.bytes).toBeGreaterThan(OBJECTS);
    await server.close();
  });

  it.each(WAYS)('[SDK-23] an app that asks for it sees the objects as they arrive (%o)', async (way) => {
    const server = await openServer();
    const device = await openOffline(server, { ...way, show: 'as_it_arrives' });
    const query = device.source<{ n: number }>('Order').query({ where: { n: { lt: 10 } }, orderBy: { n: 'asc' } });
    const sizes: number[] = [];
    query.subscribe(() => undefined);
    device.source('Order').subscribe(() => sizes.push(device.source('Order').list().length));
    device.goOnline();
    await device.signIn(signIn);
    await device.sync();
    expect(sizes.length).toBeGreaterThan(1);
    expect(sizes.at(-1)).toBe(OBJECTS);
    expect(query.list().map(({ attributes }) => attributes.n)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await server.close();
  });

  it.each([
    ...WAYS.map((way) => ({ way, lost: 0 })),
    { way: {}, lost: 1 },
    { way: {}, lost: Number.POSITIVE_INFINITY },
    { way: { pageObjects: 700, snapshots: false }, lost: 1 },
  ])(
    '[SDK-24] a device that dies at any commit of a first sync goes on and shows nothing by half ($way, unflushed commits lost: $lost)',
    async ({ way, lost }) => {
      const server = await openServer();
      for (let diesAt = 0, isWhole = false; !isWhole; diesAt++) {
        const kept = memoryStore();
        const first = mortalStore(kept, diesAt, lost);
        const dying = await server.openDevice({ live: false, ...way, store: first });
        const isSignedIn = await dying.signIn(signIn).then(
          () => true,
          () => false,
        );
        isWhole = await dying.sync().then(
          () => true,
          () => false,
        );
        await dying.close();
        // What the server deletes between the two lives must not stay.
        const gone = `o${diesAt % OBJECTS}`;
        await server.remove('Order', [gone], { user: 'ada' });
        const device = await server.openDevice({
          live: false,
          ...way,
          store: mortalStore(kept, Number.POSITIVE_INFINITY),
        });
        const shown = device.source('Order').list().length;
        expect([0, OBJECTS]).toContain(shown);
        if (!isSignedIn) await device.signIn(signIn);
        await device.sync();
        expect(device.source('Order').list()).toHaveLength(OBJECTS - 1);
        expect(device.status.getSnapshot().heals).toBe(0);
        await device.close();
        await server.push('Order', { [gone]: objects[gone] as object }, { user: 'ada' });
      }
      await server.close();
    },
    120_000,
  );

  it.each(WAYS)('[SDK-24] changes made during a first sync show at once and reach the server (%o)', async (way) => {
    const server = await openServer();
    const device = await openOffline(server, way);
    const orders = device.source<{ n: number }>('Order');
    const made: Promise<unknown>[] = [];
    let hasMade = false;
    device.status.subscribe(() => {
      if (device.status.getSnapshot().progress === null || hasMade) return;
      hasMade = true;
      made.push(orders.create({ n: -1 }, { id: 'mine' }));
      expect(orders.list().map(({ id }) => id)).toEqual(['mine']);
    });
    device.goOnline();
    await device.signIn(signIn);
    await device.sync();
    await Promise.all(made);
    await device.sync();
    expect(orders.list()).toHaveLength(OBJECTS + 1);
    expect(await server.objects('Order', { user: 'ada' })).toMatchObject({ mine: { n: -1 } });
    expect(device.status.getSnapshot().heals).toBe(0);
    await server.close();
  });

  it('[SDK-24] a tab that becomes the leader in the middle of a first sync completes it', async () => {
    const server = await openServer();
    const tabs = tabsInMemory();
    const kept = memoryStore();
    const shared = (store: LocalStore): LocalStore => ({
      sharedAs: 'one',
      load: () => store.load(),
      commit: (writes) => store.commit(writes),
      close: async () => undefined,
    });
    const platform = { ...server.platform, tabs };
    const open = (store: LocalStore) => openDevice({ url: server.url, live: false, store: shared(store), platform });
    const first = await open(kept);
    first.goOffline();
    const second = await open(kept);
    expect([first, second].map(({ status }) => status.getSnapshot().tab)).toEqual(['leader', 'follower']);
    let closed: Promise<void> | null = null;
    first.status.subscribe(() => {
      const { objects: count = 0 } = first.status.getSnapshot().progress ?? {};
      if (count > 0) closed ??= first.close();
    });
    const isWhole = new Promise<void>((resolve) => {
      second.source('Order').subscribe(() => {
        if (second.source('Order').list().length === OBJECTS) resolve();
      });
    });
    first.goOnline();
    await first.signIn(signIn);
    await isWhole;
    await closed;
    expect(closed).not.toBeNull();
    expect(second.status.getSnapshot()).toMatchObject({ tab: 'leader', heals: 0 });
    await server.close();
  });
});

describe('a device that starts over', () => {
  it.each(WAYS)(
    '[SDK-25] a device that starts over shows what it had until everything has come again, and keeps its uploads (%o)',
    async (way) => {
      const server = await openServer();
      const device = await server.openDevice({ live: false, user: 'ada', ...way });
      await device.sync();
      device.goOffline();
      await device.source('Order').update('o1', { n: 'mine' });
      const sizes = new Set<number>();
      device.source('Order').subscribe(() => sizes.add(device.source('Order').list().length));
      await device.startOver();
      expect((await device.debug()).sources).toEqual([expect.objectContaining({ name: 'Order', hasToken: false })]);
      await server.push('Order', { o2: { n: 'theirs' } }, { user: 'ada' });
      device.goOnline();
      await device.sync();
      expect([...sizes]).toEqual([OBJECTS]);
      expect(device.source('Order').get('o2')?.attributes.n).toBe('theirs');
      expect((await server.objects('Order', { user: 'ada' })).o1).toEqual({ n: 'mine' });
      expect(device.status.getSnapshot()).toMatchObject({ pendingUploads: 0, heals: 0, error: null });
      await server.close();
    },
  );

  it.each(WAYS)('[SDK-25] a device that starts over during a first sync shows none of it by half (%o)', async (way) => {
    const server = await openServer();
    const device = await openOffline(server, way);
    const sizes: number[] = [];
    let isRestarted = false;
    device.source('Order').subscribe(() => sizes.push(device.source('Order').list().length));
    const restarted = new Promise<void>((resolve, reject) =>
      device.status.subscribe(() => {
        if (isRestarted || device.status.getSnapshot().progress === null) return;
        isRestarted = true;
        device.startOver().then(resolve, reject);
      }),
    );
    device.goOnline();
    await device.signIn(signIn);
    await restarted;
    await device.sync();
    expect(sizes).toEqual([OBJECTS]);
    expect(device.status.getSnapshot()).toMatchObject({ heals: 0, error: null });
    await server.close();
  });
});
