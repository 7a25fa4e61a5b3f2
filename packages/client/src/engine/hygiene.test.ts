import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Device, LocalStore } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openFileStore } from '../stores/file-store.ts';
import { openIndexedDbStore } from '../stores/indexeddb-store.ts';
import { type KeyValueStorage, openKeyValueStore } from '../stores/key-value-store.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
});

const ada = { login: 'ada', password: 'long enough' };
const bob = { login: 'bob', password: 'long enough' };
const SECRET = 'what nobody else may read';
const TOKEN = /token-\d+-/;

const WAIT = { timeout: 60_000, interval: 5 };

/** Lets virtual time pass until the condition holds: files are written in real time. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => {
    await fixture.platform.advance(1_000);
    if (!(await condition())) throw new Error('not yet');
  }, WAIT);
}

async function finish<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  work.then(end, end);
  await until(() => isDone);
  return work;
}

/** Counts the commits that left nothing of what they deleted. */
function counted(store: LocalStore): LocalStore & { scrubs: number } {
  const watched = {
    scrubs: 0,
    load: () => store.load(),
    async commit(...given: Parameters<LocalStore['commit']>) {
      await store.commit(...given);
      if (given[1]?.scrubs === true) watched.scrubs++;
    },
    close: () => store.close(),
  };
  return watched;
}

const modeOf = (device: Device) => device.status.getSnapshot().mode;

/** A store, and all that its files hold, as text. */
async function fileStore() {
  const folder = await mkdtemp(join(tmpdir(), 'hygiene-'));
  const opened = await openFileStore(folder);
  onTestFinished(async () => {
    await opened.close();
    await rm(folder, { recursive: true, force: true });
  });
  const store = counted(opened);
  // The store may replace a file meanwhile; then all are read again.
  const content = () =>
    vi.waitFor(async () => {
      const names = await readdir(folder, { recursive: true });
      return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
    }, WAIT);
  return { store, content };
}

async function keyValueStore() {
  const map = new Map<string, string>();
  const storage: KeyValueStorage = {
    getAllKeys: async () => [...map.keys()],
    multiGet: async (keys) => keys.map((key) => [key, map.get(key) ?? null] as const),
    multiSet: async (pairs) => {
      for (const [key, value] of pairs) map.set(key, value);
    },
    multiRemove: async (keys) => {
      for (const key of keys) map.delete(key);
    },
  };
  return { store: counted(await openKeyValueStore(storage)), content: async () => JSON.stringify([...map]) };
}

interface Answering<T> {
  readonly result: T;
  readonly error: unknown;
  onsuccess: unknown;
  onerror: unknown;
}

const answered = <T>(request: Answering<T>) =>
  new Promise<T>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

type OpenedDb = Awaited<ReturnType<typeof import('fake-indexeddb')['IDBFactory']['prototype']['open']>>['result'];

async function indexedDbStore() {
  const { IDBFactory } = await import('fake-indexeddb');
  const indexedDB = new IDBFactory();
  const store = counted(await openIndexedDbStore({ indexedDB }));
  // Not by `load`, which would take the database from the device.
  const content = async () => {
    const db = await answered<OpenedDb>(indexedDB.open('tidemark') as never);
    const names = [...db.objectStoreNames];
    const tx = db.transaction(names);
    const stores = names.map((name) => tx.objectStore(name));
    const rows = await Promise.all(stores.flatMap((store) => [answered(store.getAllKeys()), answered(store.getAll())]));
    db.close();
    return JSON.stringify(rows);
  };
  return { store, content };
}

const STORES = [
  ['the file store', fileStore],
  ['the key-value store', keyValueStore],
  ['IndexedDB', indexedDbStore],
] as const;

/** A device with data of the server, an upload that was sent, and one that waits. */
async function used(store: LocalStore): Promise<Device> {
  await fixture.tidemark.objects.push({
    source: 'Order',
    user_id: 'ada',
    objects: { 'id-of-secret': { text: SECRET }, other: { text: SECRET } },
  });
  const device = await fixture.open({ store, user: null });
  await finish(device.signIn(ada));
  await finish(device.sync());
  await device.source('Order').update('other', { more: SECRET });
  await finish(device.sync());
  fixture.platform.setOnline(false);
  await device.source('Order').create({ text: SECRET }, { id: 'id-of-secret-2' });
  return device;
}

/** A device that got many objects, which are all deleted by now. */
async function emptied(store: LocalStore): Promise<Device> {
  const ids = Array.from({ length: 300 }, (_, at) => `id-of-secret-${at}`);
  const objects = Object.fromEntries(ids.map((id) => [id, { text: SECRET }]));
  await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects });
  const device = await fixture.open({ store, user: null });
  await finish(device.signIn(ada));
  await finish(device.sync());
  await fixture.tidemark.objects.pushDeletes({ source: 'Order', user_id: 'ada', objects: ids });
  await finish(device.sync());
  expect(device.source('Order').list()).toEqual([]);
  return device;
}

function expectNothing(content: string): void {
  expect(content).not.toContain(SECRET);
  expect(content).not.toContain('id-of-secret');
  expect(content).not.toContain('ada');
}

const isConfirmed = async (client: string | null) => (await wipeOf(client))?.confirmed_at !== null;
const wipeOf = async (client: string | null) => (await fixture.tidemark.clients.get(client)).wipe;

describe('data hygiene', () => {
  it.each(STORES)(
    '[HYGIENE-1] after signing out offline %s holds nothing but the token to revoke, and after the revocation no token',
    async (_, open) => {
      const { store, content } = await open();
      const device = await used(store);
      expect(await content()).toContain(SECRET);
      await device.signOut({ discardUploads: true });
      expectNothing(await content());
      expect(await content()).toMatch(TOKEN);
      fixture.platform.setOnline(true);
      await until(() => store.scrubs === 2);
      await device.close();
      expect(await content()).not.toMatch(TOKEN);
      expectNothing(await content());
    },
  );

  it.each(STORES)(
    '[HYGIENE-1] after signing out %s holds none of the objects that were deleted before',
    async (_, open) => {
      const { store, content } = await open();
      const device = await emptied(store);
      await finish(device.signOut());
      await until(() => store.scrubs === 2);
      expectNothing(await content());
      await device.close();
    },
  );

  it.each(STORES)(
    '[HYGIENE-2] after a user change %s holds nothing of the first user, whose token is revoked',
    async (_, open) => {
      const { store, content } = await open();
      const device = await used(store);
      const { clientId } = device.status.getSnapshot();
      fixture.platform.setOnline(true);
      const tokens: string[] = [];
      fixture.intercept = ({ method, path }, _go, init) => {
        if (method === 'DELETE' && path === '/token') {
          tokens.push(new Headers(init.headers).get('authorization') ?? '');
        }
        return undefined;
      };
      await finish(device.signIn(bob, { discardUploads: true }));
      await finish(device.sync());
      expect(tokens).toEqual([expect.stringContaining(`${clientId}`)]);
      const held = await content();
      expectNothing(held);
      expect(held).not.toContain(clientId);
      expect(held).toContain('bob');
    },
  );

  it('[HYGIENE-3] a token is revoked as soon as there is a network, also after a restart and in spite of failures', async () => {
    const { store } = await fileStore();
    const lasting = { load: () => store.load(), commit: store.commit.bind(store), close: async () => undefined };
    const device = await used(lasting);
    await device.signOut({ discardUploads: true });
    await device.close();
    expect(fixture.sync.count('/token')).toBe(0);
    fixture.platform.setOnline(true);
    let failures = 0;
    fixture.intercept = ({ path }) =>
      path === '/token' && failures++ < 2 ? Promise.reject(new TypeError('no route')) : undefined;
    const again = await fixture.open({ store: lasting, user: null });
    await until(() => store.scrubs === 2);
    expect([failures, fixture.sync.count('/token')]).toEqual([3, 1]);
    expect(JSON.stringify(await store.load())).not.toMatch(TOKEN);
    await again.close();
  });

  it('[HYGIENE-3] a sign-in before the revocation does not lose its own token to it', async () => {
    const { store } = await fileStore();
    const device = await used(store);
    const { clientId } = device.status.getSnapshot();
    await device.signOut({ discardUploads: true });
    fixture.intercept = ({ method, path }) =>
      method === 'DELETE' && path === '/token' ? Promise.reject(new TypeError('no route')) : undefined;
    fixture.platform.setOnline(true);
    await finish(device.signIn(ada));
    fixture.intercept = () => undefined;
    await until(() => fixture.sync.log.some(({ method, path }) => method === 'DELETE' && path === '/token'));
    await finish(device.sync());
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'idle', userId: 'ada' });
    expect(device.status.getSnapshot().clientId).not.toBe(clientId);
    await device.close();
  });
});

describe('remote wipe', () => {
  it.each(STORES)(
    '[WIPE-7] a wiped device erases %s, confirms, and reports the uploads that were lost',
    async (_, open) => {
      const { store, content } = await open();
      const device = await used(store);
      const { clientId } = device.status.getSnapshot();
      await fixture.tidemark.clients.wipes.order(clientId, 'admin');
      fixture.platform.setOnline(true);
      await until(() => store.scrubs === 2);
      expect(device.status.getSnapshot()).toMatchObject({ mode: 'signed_out', userId: null, clientId: null });
      expect([device.source('Order').list(), device.uploads.list()]).toEqual([[], []]);
      expect(await wipeOf(clientId)).toMatchObject({ confirmed_at: expect.any(String), unsent_uploads: 1 });
      const held = await content();
      expectNothing(held);
      expect(held).not.toMatch(TOKEN);
      await device.close();
    },
  );

  it.each(STORES)('[WIPE-7] a wiped device also erases objects of %s that were deleted before', async (_, open) => {
    const { store, content } = await open();
    const device = await emptied(store);
    const { clientId } = device.status.getSnapshot();
    await fixture.tidemark.clients.wipes.order(clientId, 'admin');
    await finish(device.sync().catch(() => undefined));
    await until(() => store.scrubs === 2);
    expect(await isConfirmed(clientId)).toBe(true);
    expectNothing(await content());
    await device.close();
  });

  it('[WIPE-7] a wipe that could not be confirmed is confirmed after a restart', async () => {
    const { store, content } = await fileStore();
    const lasting = { load: () => store.load(), commit: store.commit.bind(store), close: async () => undefined };
    const device = await used(lasting);
    const { clientId } = device.status.getSnapshot();
    await fixture.tidemark.clients.wipes.order(clientId, 'admin');
    fixture.intercept = ({ path }) => (path.endsWith('/wiped') ? Promise.reject(new TypeError('no route')) : undefined);
    fixture.platform.setOnline(true);
    await until(() => modeOf(device) === 'signed_out');
    expectNothing(await content());
    await device.close();
    expect(await wipeOf(clientId)).toMatchObject({ confirmed_at: null });
    fixture.intercept = () => undefined;
    const again = await fixture.open({ store: lasting, user: null });
    await until(() => store.scrubs === 2);
    expect(await wipeOf(clientId)).toMatchObject({ confirmed_at: expect.any(String), unsent_uploads: 1 });
    expect(await content()).not.toMatch(TOKEN);
    await again.close();
  });

  it('[WIPE-8] a device whose session has ended is wiped when its user signs in, and goes on as a new device', async () => {
    const { store, content } = await fileStore();
    const device = await used(store);
    const { clientId } = device.status.getSnapshot();
    fixture.sync.endSessions();
    await fixture.tidemark.clients.wipes.order(clientId, 'admin');
    fixture.platform.setOnline(true);
    await until(() => modeOf(device) === 'needs_sign_in');
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'needs_sign_in' });
    await finish(device.signIn(ada));
    expect(await wipeOf(clientId)).toMatchObject({ confirmed_at: expect.any(String), unsent_uploads: 1 });
    await finish(device.sync());
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'idle', userId: 'ada', pendingUploads: 0 });
    expect(device.status.getSnapshot().clientId).not.toBe(clientId);
    expect(await content()).not.toContain('id-of-secret-2');
    await device.close();
  });

  it('[WIPE-8] a session that is renewed without the user is wiped, too', async () => {
    const device = await fixture.open({ getToken: async () => ada });
    await finish(device.sync());
    const { clientId } = device.status.getSnapshot();
    fixture.sync.endSessions();
    await fixture.tidemark.clients.wipes.order(clientId, 'admin');
    await expect(finish(device.sync())).rejects.toMatchObject({ code: expect.any(String) });
    await until(() => isConfirmed(clientId));
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'signed_out', clientId: null });
    expect(await wipeOf(clientId)).toMatchObject({ confirmed_at: expect.any(String) });
    await device.close();
  });

  it('[WIPE-9] signing out of a device that is to be wiped confirms the wipe', async () => {
    const { store } = await fileStore();
    const device = await used(store);
    const { clientId } = device.status.getSnapshot();
    await device.signOut({ discardUploads: true });
    await fixture.tidemark.clients.wipes.order(clientId, 'admin');
    fixture.platform.setOnline(true);
    await until(() => isConfirmed(clientId));
    expect(await wipeOf(clientId)).toMatchObject({ confirmed_at: expect.any(String), unsent_uploads: 1 });
    await device.close();
  });

  it('[WIPE-10] a store that fails while it is erased is erased by the next attempt', async () => {
    const { store, content } = await fileStore();
    let failures = 0;
    const failing = {
      load: () => store.load(),
      commit: (...given: Parameters<typeof store.commit>) =>
        given[1]?.scrubs === true && failures++ < 2 ? Promise.reject(new Error('disk full')) : store.commit(...given),
      close: () => store.close(),
    };
    const device = await used(failing);
    failures = 0;
    const { clientId } = device.status.getSnapshot();
    await fixture.tidemark.clients.wipes.order(clientId, 'admin');
    fixture.platform.setOnline(true);
    await until(() => isConfirmed(clientId));
    expect(failures).toBeGreaterThan(2);
    expectNothing(await content());
    expect(await wipeOf(clientId)).toMatchObject({ confirmed_at: expect.any(String), unsent_uploads: 1 });
    await device.close();
  });
});

describe('a database that is deleted from outside', () => {
  it('[LOCAL-9] the status says store_failed at once, without a change or a call', async () => {
    const { IDBFactory } = await import('fake-indexeddb');
    const indexedDB = new IDBFactory();
    const device = await fixture.open({ store: await openIndexedDbStore({ indexedDB }), user: null });
    await finish(device.signIn(ada));
    await finish(device.sync());
    expect(device.status.getSnapshot().error).toBeNull();
    indexedDB.deleteDatabase('tidemark');
    await vi.waitFor(() => {
      expect(device.status.getSnapshot().error).toMatchObject({ code: 'store_failed', status: null });
    }, WAIT);
    await expect(device.source('Order').create({ a: 1 })).rejects.toMatchObject({ code: 'store_failed' });
    // A pull without changes needs no store, and must not hide that it is gone.
    await finish(device.sync().catch(() => undefined));
    expect(device.status.getSnapshot().error).toMatchObject({ code: 'store_failed' });
    await device.close();
  });
});
