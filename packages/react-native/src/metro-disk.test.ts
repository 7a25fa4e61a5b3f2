import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createContext, Script } from 'node:vm';
import type { Device } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture, temporaryFolder } from '@tidemark/testing';
import sqlite from 'node-sqlite3-wasm';
import { expect, it, onTestFinished } from 'vitest';
import { bundleWithMetro } from '../test-app/metro-bundle.ts';

const APP = `
import { openDevice } from '@tidemark/client';
import { phonePlatform, secureSession } from '@tidemark/react-native';
import { expoSqlite, openHealingSqliteStore } from '@tidemark/sqlite';

globalThis.start = async ({ databases, items, randomBytes, platform }) => {
  const open = async (name) => expoSqlite(await databases.openDatabaseAsync(name));
  const healing = await openHealingSqliteStore({ name: 'app.db', list: databases.list, open });
  const store = secureSession(healing, items, { randomBytes });
  const own = { ...phonePlatform({ randomBytes }), ...platform };
  const device = await openDevice({ url: 'http://tidemark.test', store, platform: own, live: false, pageObjects: 100 });
  device.source('Order', { keep: 'disk', indexes: ['name'] });
  return device;
};
globalThis.rename = (device, id, name) => device.source('Order').update(id, { name });
globalThis.first = async (device, size) => {
  const pages = device.source('Order').pages({ size, orderBy: { name: 'desc' } });
  await device.source('Order').query({ orderBy: { name: 'desc' }, limit: size + 1 }).fetch();
  const first = pages.getSnapshot().map(({ id }) => id);
  await pages.more();
  return [first, pages.getSnapshot().length, pages.hasMore];
};
`;

/** What engines of phones may lack although Node.js has it. */
const WITHOUT_NEW_METHODS = `
for (const name of ['toReversed', 'toSorted', 'toSpliced', 'with', 'findLast', 'findLastIndex']) delete Array.prototype[name];
for (const name of ['allSettled', 'any', 'withResolvers']) delete Promise[name];
delete Object.groupBy;
delete Array.fromAsync;`;

/** The calls of `expo-sqlite` over the SQLite of these tests, and the names in its folder. */
function expoDatabases(folder: string) {
  return {
    list: async () => (await readdir(folder)).filter((name) => name.endsWith('.db')),
    openDatabaseAsync: async (name: string) => {
      const database = new sqlite.Database(join(folder, name));
      return {
        execAsync: async (statements: string) => database.exec(statements),
        runAsync: async (statement: string, values: string[]) => database.run(statement, [...values]),
        getAllAsync: async (query: string, values: string[]) => database.all(query, [...values]),
        closeAsync: async () => database.close(),
      };
    },
  };
}

function systemOf({ platform }: DeviceFixture) {
  const items = new Map<string, string>();
  return {
    items: {
      get: async (name: string) => items.get(name) ?? null,
      set: async (name: string, value: string) => void items.set(name, value),
      delete: async (name: string) => void items.delete(name),
    },
    randomBytes: (count: number) => platform.randomBytes(count),
    platform: {
      nowMs: () => platform.nowMs(),
      after: (ms: number, callback: () => void) => platform.after(ms, callback),
      fetch: async (url: string, init: RequestInit) => {
        const response = await platform.fetch(url, init);
        const { ok, status, headers } = response;
        return { ok, status, headers, body: undefined, text: () => response.text(), json: () => response.json() };
      },
    },
  };
}

async function startApp() {
  const fixture = await newDeviceFixture();
  const objects = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, at) => [`o${at}`, { name: `é ${String(at).padStart(4, '0')}` }]),
  );
  await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects });
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const context = createContext({
    AbortController,
    TextEncoder,
    URL,
    console,
    queueMicrotask,
    setTimeout,
    clearTimeout,
  });
  const packages = ['client', 'protocol', 'react-native', 'sqlite'];
  new Script(WITHOUT_NEW_METHODS).runInContext(context);
  new Script(await bundleWithMetro({ modules: { 'app.js': APP }, packages })).runInContext(context);
  const system = { databases: expoDatabases(folder.path), ...systemOf(fixture) };
  const start = (): Promise<Device> => fixture.finish(context.start(system));
  const first = async (device: Device, size: number): Promise<unknown> =>
    JSON.parse(JSON.stringify(await fixture.finish(context.first(device, size))));
  const rename = (device: Device, id: string, name: string): Promise<void> => context.rename(device, id, name);
  return { fixture, folder: folder.path, start, first, rename };
}

it('[PHONE-52] an app that Metro bundled keeps a source on the disk in SQLite: first sync, pages, edits, a restart without a network, and a damaged database', async () => {
  const { fixture, folder, start, first, rename } = await startApp();
  const before = await start();
  await fixture.finish(before.signIn({ login: 'ada', password: 'long enough' }));
  await fixture.finish(before.sync());
  expect(await first(before, 2)).toEqual([['o2999', 'o2998'], 4, true]);
  await fixture.finish(rename(before, 'o2998', 'é 9999'));
  await fixture.finish(before.sync());
  await fixture.finish(before.close());

  const offline = await start();
  offline.goOffline();
  expect(await first(offline, 2)).toEqual([['o2998', 'o2999'], 4, true]);
  await fixture.finish(rename(offline, 'o7', 'not sent'));
  await fixture.finish(offline.close());
  const database = new sqlite.Database(join(folder, 'app.db'));
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  database.exec("UPDATE objects SET value = '{' WHERE id = 'o5'");
  database.close();

  const damaged = await start();
  damaged.goOffline();
  await expect(fixture.finish(damaged.source('Order').fetch('o5'))).rejects.toMatchObject({ code: 'store_damaged' });
  await fixture.finish(damaged.close());
  const healed = await start();
  await fixture.finish(healed.sync());
  expect((await readdir(folder)).filter((name) => name.endsWith('.db'))).toEqual(['app-2.db', 'app.db']);
  expect(await first(healed, 1)).toEqual([['o2998'], 2, true]);
  const stored = new Map(await fixture.tidemark.objects.read({ source: 'Order', user_id: 'ada' }));
  expect([stored.get('o7'), stored.get('o2998')]).toEqual([{ name: 'not sent' }, { name: 'é 9999' }]);
  await fixture.finish(healed.close());
});
