import { appendFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Caller,
  launchKillableChromium,
  makeUser,
  type Page,
  type SdkApp,
  signIn,
  startDevice,
  startSdkApp,
  temporaryFolder,
  untilInTab,
  useBrowser,
} from '@tidemark/testing';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';

/** Chromium logs every request that it could not make, and every refusal. */
const EXPECTED = [/ERR_INTERNET_DISCONNECTED/, /ERR_NETWORK_CHANGED/, /ERR_ABORTED/, /410 \(Gone\)/];

/** What the app answers to a request of `/slow.js`, in its own time. */
let slow: Promise<string> = Promise.resolve('');
let app: SdkApp;
let server: TestServer;
let admin: Caller;
const browser = useBrowser();

beforeAll(async () => {
  app = await startSdkApp({ scripts: { '/slow.js': () => slow } });
  const { devices } = testConfig('');
  server = await startTestServer({ devices: { ...devices, origins: [app.url] } });
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
});

afterAll(async () => {
  admin.close();
  await server.close();
  await app.close();
});

/** Opens a tab with its device as the global `device`; tabs of one context share the device. */
async function openTab(first: Page | null = null, before = ''): Promise<Page> {
  const options = first === null ? {} : { context: first.context() };
  const page = await browser.openPage(app.url, { ...options, expectedErrors: EXPECTED });
  await startDevice(page, server.url, before);
  return page;
}

const tabOf = (page: Page) => page.evaluate('device.status.getSnapshot().tab');

const onServer = async (user: string) =>
  (await admin.get(`/rc/v1/users/${user}/sources/Order/docs/md`)).body as Record<string, { readonly n: unknown }>;

it('[TABS-1] all tabs read and write one device, and a tab that follows shows a change before its call returns', async () => {
  await makeUser(server, 'ada');
  const first = await openTab();
  const second = await openTab(first);
  expect([await tabOf(first), await tabOf(second)]).toEqual(['leader', 'follower']);
  // Signing in in one tab signs in all.
  await signIn(second, 'ada');
  await untilInTab(first, "device.status.getSnapshot().userId === 'ada'");
  const shown = await second.evaluate(`(() => {
    const saved = orders.create({ n: 1 }, { id: 'o' });
    const shown = orders.get('o');
    return saved.then(() => shown);
  })()`);
  expect(shown).toEqual({ id: 'o', attributes: { n: 1 }, isPending: true });
  await untilInTab(first, "orders.get('o') !== undefined");
  await first.evaluate("orders.update('o', { n: 2 })");
  await untilInTab(second, "orders.get('o').attributes.n === 2");
  await second.evaluate('device.sync()');
  expect(await onServer('ada')).toEqual({ o: { n: 2 } });
  await untilInTab(second, "!orders.get('o').isPending");
});

it('[TABS-1] signing out in one tab empties all of them at once', async () => {
  await makeUser(server, 'bob');
  await admin.post('/app/v1/Order/push_objects', { user_id: 'bob', objects: { o: { n: 1 } } });
  const first = await openTab();
  const second = await openTab(first);
  await signIn(first, 'bob');
  await untilInTab(second, "orders.get('o') !== undefined");
  await second.evaluate('device.signOut()');
  await untilInTab(first, "device.status.getSnapshot().mode === 'signed_out' && orders.list().length === 0");
  await expect(second.evaluate('orders.create({ n: 1 })')).rejects.toThrow(/signed in/);
});

/** Everything that the browser has stored for the page in IndexedDB, as text. */
const stored = (page: Page) =>
  page.evaluate(`(async () => {
    const done = (request) => new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    const db = await done(indexedDB.open('tidemark'));
    const tx = db.transaction([...db.objectStoreNames]);
    const stores = [...db.objectStoreNames].map((name) => tx.objectStore(name));
    const rows = await Promise.all(stores.flatMap((store) => [done(store.getAllKeys()), done(store.getAll())]));
    db.close();
    return JSON.stringify(rows);
  })()`) as Promise<string>;

it('[WIPE-12] a remote wipe empties all tabs and the database, and is confirmed', async () => {
  await makeUser(server, 'wim');
  await admin.post('/app/v1/Order/push_objects', { user_id: 'wim', objects: { hidden: { text: 'secret' } } });
  const first = await openTab();
  const second = await openTab(first);
  await signIn(first, 'wim');
  await untilInTab(second, "orders.get('hidden') !== undefined");
  await untilInTab(first, 'device.status.getSnapshot().isLive');
  const clientId = await first.evaluate('device.status.getSnapshot().clientId');
  expect(await stored(first)).toMatch(/secret[\s\S]*tmk_|tmk_[\s\S]*secret/);
  expect((await admin.post(`/rc/v1/clients/${clientId}/wipe`, {})).status).toBe(200);
  const isWiped = "device.status.getSnapshot().sessionEnd?.reason === 'wiped' && orders.list().length === 0";
  await Promise.all([untilInTab(first, isWiped), untilInTab(second, isWiped)]);
  const order = async () =>
    ((await admin.get(`/rc/v1/clients/${clientId}`)).body as { readonly wipe: { readonly confirmed_at: unknown } })
      .wipe;
  await vi.waitFor(async () => expect((await order()).confirmed_at).not.toBeNull(), { timeout: 60_000 });
  await vi.waitFor(async () => expect(await stored(first)).not.toMatch(/secret|hidden|tmk_|wim/), { timeout: 60_000 });
});

it('[LOCAL-9] a database that is deleted while the page runs is told by the status at once', async () => {
  await makeUser(server, 'lena');
  const page = await openTab();
  await signIn(page, 'lena');
  expect(await page.evaluate('device.status.getSnapshot().error')).toBeNull();
  await page.evaluate("indexedDB.deleteDatabase('tidemark')");
  await untilInTab(page, "device.status.getSnapshot().error?.code === 'store_failed'");
  await expect(page.evaluate('orders.create({ n: 1 })')).rejects.toThrow(/deleted/);
});

it('[LOCAL-12] when the browser deletes the data of the site, all tabs say so at once, refuse changes, and work again after a reload', async () => {
  await makeUser(server, 'nina');
  await admin.post('/app/v1/Order/push_objects', { user_id: 'nina', objects: { o: { n: 1 } } });
  const first = await openTab();
  const second = await openTab(first);
  await signIn(first, 'nina');
  await untilInTab(second, "orders.get('o') !== undefined");
  const session = await first.context().newCDPSession(first);
  await session.send('Storage.clearDataForOrigin', { origin: app.url, storageTypes: 'indexeddb' });
  const isTold = "device.status.getSnapshot().error?.code === 'store_failed'";
  await Promise.all([untilInTab(first, isTold), untilInTab(second, isTold)]);
  const create = `orders.create({ n: 2 }).catch(({ code }) => code)`;
  expect([await first.evaluate(create), await second.evaluate(create)]).toEqual(['store_failed', 'store_failed']);
  // The tab that is left cannot lead, since its database is gone, and says so until another tab leads.
  await first.close();
  await untilInTab(second, "device.status.getSnapshot().tab === 'follower'");
  expect(await second.evaluate(create)).toBe('store_failed');
  expect(await second.evaluate(isTold)).toBe(true);
  const third = await openTab(second);
  await signIn(third, 'nina');
  await untilInTab(second, "device.status.getSnapshot().error === null && orders.get('o') !== undefined");
  await second.evaluate("orders.update('o', { n: 3 })");
  await second.evaluate('device.sync()');
  expect(await onServer('nina')).toEqual({ o: { n: 3 } });
});

it('[LOCAL-13] a full storage refuses a change with storage_full and takes it back, and the device goes on when there is room', async () => {
  await makeUser(server, 'otto');
  // Before the device stores anything: Chromium remembers for a while how much room there was.
  const first = await browser.openPage(app.url, { expectedErrors: EXPECTED });
  const session = await first.context().newCDPSession(first);
  await session.send('Storage.overrideQuotaForOrigin', { origin: app.url, quotaSize: 200_000 });
  await startDevice(first, server.url);
  const second = await openTab(first);
  await signIn(first, 'otto');
  await untilInTab(second, "device.status.getSnapshot().userId === 'otto'");
  // Random, because Chromium compresses what it stores, and counts what is left.
  const text = "Array.from({ length: 40_000 }, () => Math.random().toString(36).slice(2, 12)).join('')";
  const create = `orders.create({ text: ${text} }).then(() => null, ({ code, message }) => ({ code, message }))`;
  const refusal = { code: 'storage_full', message: expect.stringMatching(/^there is no room left/) };
  expect([await first.evaluate(create), await second.evaluate(create)]).toEqual([refusal, refusal]);
  expect(await second.evaluate('orders.list()')).toEqual([]);
  await session.send('Storage.overrideQuotaForOrigin', { origin: app.url });
  await second.evaluate("orders.create({ n: 1 }, { id: 'o' })");
  await second.evaluate('device.sync()');
  expect(await onServer('otto')).toEqual({ o: { n: 1 } });
});

it('[TABS-2] when the tab that leads is closed, another one leads, and nothing is lost or doubled', async () => {
  await makeUser(server, 'cleo');
  const first = await openTab();
  const second = await openTab(first);
  await signIn(first, 'cleo');
  await untilInTab(second, "device.status.getSnapshot().userId === 'cleo'");
  await first.context().setOffline(true);
  await second.evaluate("orders.create({ n: 1 }, { id: 'saved' })");
  await first.close();
  // Not awaited by the page: the write is made while nobody leads.
  const late = second.evaluate("orders.create({ n: 2 }, { id: 'late' }).then(() => undefined)");
  await untilInTab(second, "device.status.getSnapshot().tab === 'leader'");
  await late;
  await second.context().setOffline(false);
  await untilInTab(second, 'device.uploads.list().length === 0');
  await second.evaluate('device.sync()');
  expect(await onServer('cleo')).toEqual({ saved: { n: 1 }, late: { n: 2 } });
  expect(await second.evaluate('device.problems.list()')).toEqual([]);
});

it('[TABS-3] a tab that leads and does not answer is replaced, and follows when it is back', async () => {
  await makeUser(server, 'dora');
  const first = await openTab();
  const second = await openTab(first);
  await signIn(first, 'dora');
  await untilInTab(second, "device.status.getSnapshot().userId === 'dora'");
  // The first tab waits for its request, and hears of nothing, until the second one has taken over.
  let answer: (script: string) => void = () => undefined;
  slow = new Promise((resolve) => {
    answer = resolve;
  });
  const busy = first.evaluate(`new Promise((resolve) => setTimeout(() => {
    const request = new XMLHttpRequest();
    request.open('GET', '/slow.js', false);
    request.send();
    resolve();
  }))`);
  await untilInTab(second, "device.status.getSnapshot().tab === 'leader'");
  await second.evaluate("orders.create({ n: 1 }, { id: 'o' })");
  answer('');
  await busy;
  await untilInTab(first, "device.status.getSnapshot().tab === 'follower' && orders.get('o') !== undefined");
  await first.evaluate("orders.update('o', { n: 2 })");
  await first.evaluate('device.sync()');
  expect(await onServer('dora')).toEqual({ o: { n: 2 } });
});

it('[SDK-25] a tab that follows makes the device start over, and no tab misses an object or a change meanwhile', async () => {
  await makeUser(server, 'gus');
  await admin.post('/app/v1/Order/push_objects', { user_id: 'gus', objects: { a: { n: 1 }, b: { n: 1 } } });
  const first = await openTab();
  const second = await openTab(first);
  await signIn(first, 'gus');
  await untilInTab(second, 'orders.list().length === 2');
  for (const tab of [first, second]) {
    await tab.evaluate(`globalThis.sizes = new Set([2]); orders.subscribe(() => sizes.add(orders.list().length))`);
  }
  await second.evaluate('device.goOffline()');
  await second.evaluate("orders.update('a', { n: 'mine' })");
  await second.evaluate('device.startOver()');
  expect(await first.evaluate('device.debug().then(({ sources }) => sources[0].hasToken)')).toBe(false);
  await admin.post('/app/v1/Order/push_objects', { user_id: 'gus', objects: { b: { n: 'theirs' } } });
  await second.evaluate('device.goOnline()');
  await second.evaluate('device.sync()');
  for (const tab of [first, second]) {
    await untilInTab(tab, "orders.get('a').attributes.n === 'mine' && orders.get('b').attributes.n === 'theirs'");
    expect(await tab.evaluate('[...sizes]')).toEqual([2]);
  }
  expect(await onServer('gus')).toEqual({ a: { n: 'mine' }, b: { n: 'theirs' } });
});

/** Opens the app in a browser with this profile. The browser is killed at the end of the test at the latest. */
async function openKillable(folder: string) {
  const { openTab, kill } = await launchKillableChromium(folder);
  onTestFinished(kill);
  const page = await openTab(app.url);
  await startDevice(page, server.url);
  return { page, kill };
}

/** The files to which Chromium appends what pages write to IndexedDB. */
async function logsOf(profile: string): Promise<readonly string[]> {
  const files = await readdir(join(profile, 'Default', 'IndexedDB'), { recursive: true });
  return files.filter((file) => file.endsWith('.log')).map((file) => join(profile, 'Default', 'IndexedDB', file));
}

it('[TABS-6] a device goes on with a new log when a kill has torn the last one, so that Chromium does not delete its database', async () => {
  await makeUser(server, 'ina');
  const folder = await temporaryFolder();
  const first = await openKillable(folder.path);
  await signIn(first.page, 'ina');
  await first.page.evaluate('device.goOffline()');
  await first.page.evaluate("orders.create({ n: 1 }, { id: 'before' })");
  await first.kill();
  const [torn = ''] = await logsOf(folder.path);
  // The header of a record of 100 bytes without them, as after a kill between the two writes.
  await appendFile(torn, Uint8Array.of(1, 2, 3, 4, 100, 0, 1));

  const second = await openKillable(folder.path);
  await second.page.evaluate('device.goOffline()');
  await second.page.evaluate("orders.create({ n: 2 }, { id: 'after' })");
  await vi.waitFor(async () => expect(await logsOf(folder.path)).not.toContain(torn), { timeout: 60_000 });
  await second.kill();

  const { page, kill } = await openKillable(folder.path);
  expect(await page.evaluate('orders.list().map(({ id }) => id)')).toEqual(['after', 'before']);
  await untilInTab(page, 'device.uploads.list().length === 0');
  expect(await onServer('ina')).toEqual({ before: { n: 1 }, after: { n: 2 } });
  await kill();
  await folder.remove();
});

it('[TABS-4] without Web Locks tabs share the device as well', async () => {
  await makeUser(server, 'elin');
  const noLocks = "Object.defineProperty(navigator, 'locks', { value: undefined });";
  const first = await openTab(null, noLocks);
  const second = await openTab(first, noLocks);
  expect([await tabOf(first), await tabOf(second)]).toEqual(['leader', 'follower']);
  await signIn(second, 'elin');
  await second.evaluate("orders.create({ n: 1 }, { id: 'o' })");
  await first.close();
  await untilInTab(second, "device.status.getSnapshot().tab === 'leader'");
  await second.evaluate("orders.update('o', { n: 2 })");
  await second.evaluate('device.sync()');
  expect(await onServer('elin')).toEqual({ o: { n: 2 } });
});

it('[SDK-26] a reloaded tab shows its last results before its objects are loaded, and a tab beside it shows everything', async () => {
  await makeUser(server, 'zoe');
  const objects = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`o${n}`, { n }]));
  await admin.post('/app/v1/Order/push_objects', { user_id: 'zoe', objects });
  const start = `(async () => {
    const { openDevice } = await import('@tidemark/client');
    const { openIndexedDbStore } = await import('@tidemark/client/indexeddb-store');
    const store = await openIndexedDbStore();
    globalThis.device = await openDevice({ url: ${JSON.stringify(server.url)}, store, start: 'last_results' });
    globalThis.orders = device.source('Order');
    orders.query({ orderBy: 'n', limit: 3 }).subscribe(() => undefined);
    return [device.status.getSnapshot().isLoading, orders.query({ orderBy: 'n', limit: 3 }).list().map(({ id }) => id)];
  })()`;
  const page = await browser.openPage(app.url, { expectedErrors: EXPECTED });
  expect(await page.evaluate(start)).toEqual([false, []]);
  await signIn(page, 'zoe');
  await page.evaluate('device.close()');
  await page.reload();
  expect(await page.evaluate(start)).toEqual([true, ['o0', 'o1', 'o2']]);
  await page.evaluate("orders.update('o599', { n: -1 })");
  const all = '[device.status.getSnapshot().isLoading, orders.list().length, orders.query().list().length]';
  expect(await page.evaluate(all)).toEqual([false, 600, 600]);
  const beside = await browser.openPage(app.url, { context: page.context(), expectedErrors: EXPECTED });
  expect(await beside.evaluate(start)).toEqual([false, ['o599', 'o0', 'o1']]);
  expect(await tabOf(beside)).toBe('follower');
});
