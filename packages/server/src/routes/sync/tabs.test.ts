import { appendFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Caller,
  collectErrors,
  type KillableChromium,
  launchKillableChromium,
  makeUser,
  type Page,
  type SdkApp,
  seededRandom,
  startSdkApp,
  temporaryFolder,
  USER_PASSWORD,
  useBrowser,
} from '@tidemark/testing';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';

/** Steps of the random run. `npm run tabs` makes more. */
const STEPS = Number(process.env.TIDEMARK_TAB_STEPS ?? 40);
const SEED = Number(process.env.TIDEMARK_TAB_SEED ?? 1);
const OBJECTS = Number(process.env.TIDEMARK_TAB_OBJECTS ?? 50);
/** How often the browser is killed. */
const KILLS = 3;
/** Chromium logs every request that it could not make, and every refusal. */
const EXPECTED = [/ERR_INTERNET_DISCONNECTED/, /ERR_NETWORK_CHANGED/, /ERR_ABORTED/, /410 \(Gone\)/];

let app: SdkApp;
let server: TestServer;
let admin: Caller;
const browser = useBrowser();

beforeAll(async () => {
  app = await startSdkApp();
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
  await startDevice(page, before);
  return page;
}

/**
 * Also waits for the network part. Without a bundler that is many files, and Chromium never loads one again that it could not
 * load because the test has cut the network.
 */
const startDevice = (page: Page, before = '') =>
  page.evaluate(`(async () => {
    ${before}
    const { openDevice } = await import('@tidemark/client');
    const { openIndexedDbStore } = await import('@tidemark/client/indexeddb-store');
    globalThis.device = await openDevice({ url: ${JSON.stringify(server.url)}, store: await openIndexedDbStore() });
    globalThis.orders = device.source('Order');
    await import('/client/engine/network.js');
  })()`);

const signIn = (page: Page, login: string) =>
  page.evaluate(`device.signIn(${JSON.stringify({ login, password: USER_PASSWORD })}).then(() => device.sync())`);

/** Resolves in the page when the condition holds for the device. */
const until = (page: Page, condition: string) =>
  page.evaluate(`new Promise((resolve) => {
    const look = () => { if (${condition}) resolve(true); };
    for (const observable of [orders, device.status, device.uploads, device.problems]) observable.subscribe(look);
    look();
  })`);

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
  await until(first, "device.status.getSnapshot().userId === 'ada'");
  const shown = await second.evaluate(`(() => {
    const saved = orders.create({ n: 1 }, { id: 'o' });
    const shown = orders.get('o');
    return saved.then(() => shown);
  })()`);
  expect(shown).toEqual({ id: 'o', attributes: { n: 1 }, isPending: true });
  await until(first, "orders.get('o') !== undefined");
  await first.evaluate("orders.update('o', { n: 2 })");
  await until(second, "orders.get('o').attributes.n === 2");
  await second.evaluate('device.sync()');
  expect(await onServer('ada')).toEqual({ o: { n: 2 } });
  await until(second, "!orders.get('o').isPending");
});

it('[TABS-1] signing out in one tab empties all of them at once', async () => {
  await makeUser(server, 'bob');
  await admin.post('/app/v1/Order/push_objects', { user_id: 'bob', objects: { o: { n: 1 } } });
  const first = await openTab();
  const second = await openTab(first);
  await signIn(first, 'bob');
  await until(second, "orders.get('o') !== undefined");
  await second.evaluate('device.signOut()');
  await until(first, "device.status.getSnapshot().mode === 'signed_out' && orders.list().length === 0");
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
  await until(second, "orders.get('hidden') !== undefined");
  await until(first, 'device.status.getSnapshot().isLive');
  const clientId = await first.evaluate('device.status.getSnapshot().clientId');
  expect(await stored(first)).toMatch(/secret[\s\S]*tmk_|tmk_[\s\S]*secret/);
  expect((await admin.post(`/rc/v1/clients/${clientId}/wipe`, {})).status).toBe(200);
  const isWiped = "device.status.getSnapshot().sessionEnd?.reason === 'wiped' && orders.list().length === 0";
  await Promise.all([until(first, isWiped), until(second, isWiped)]);
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
  await until(page, "device.status.getSnapshot().error?.code === 'store_failed'");
  await expect(page.evaluate('orders.create({ n: 1 })')).rejects.toThrow(/deleted/);
});

it('[TABS-2] when the tab that leads is closed, another one leads, and nothing is lost or doubled', async () => {
  await makeUser(server, 'cleo');
  const first = await openTab();
  const second = await openTab(first);
  await signIn(first, 'cleo');
  await until(second, "device.status.getSnapshot().userId === 'cleo'");
  await first.context().setOffline(true);
  await second.evaluate("orders.create({ n: 1 }, { id: 'saved' })");
  await first.close();
  // Not awaited by the page: the write is made while nobody leads.
  const late = second.evaluate("orders.create({ n: 2 }, { id: 'late' }).then(() => undefined)");
  await until(second, "device.status.getSnapshot().tab === 'leader'");
  await late;
  await second.context().setOffline(false);
  await until(second, 'device.uploads.list().length === 0');
  await second.evaluate('device.sync()');
  expect(await onServer('cleo')).toEqual({ saved: { n: 1 }, late: { n: 2 } });
  expect(await second.evaluate('device.problems.list()')).toEqual([]);
});

it('[TABS-3] a tab that leads and does not answer is replaced, and follows when it is back', async () => {
  await makeUser(server, 'dora');
  const first = await openTab();
  const second = await openTab(first);
  await signIn(first, 'dora');
  await until(second, "device.status.getSnapshot().userId === 'dora'");
  // The first tab is busy until the second one has taken over: it hears of nothing meanwhile.
  const busy = first.evaluate(`new Promise((resolve) => setTimeout(() => {
    const end = Date.now() + 4000;
    while (Date.now() < end);
    resolve();
  }))`);
  await until(second, "device.status.getSnapshot().tab === 'leader'");
  await second.evaluate("orders.create({ n: 1 }, { id: 'o' })");
  await busy;
  await until(first, "device.status.getSnapshot().tab === 'follower' && orders.get('o') !== undefined");
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
  await until(second, 'orders.list().length === 2');
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
    await until(tab, "orders.get('a').attributes.n === 'mine' && orders.get('b').attributes.n === 'theirs'");
    expect(await tab.evaluate('[...sizes]')).toEqual([2]);
  }
  expect(await onServer('gus')).toEqual({ a: { n: 'mine' }, b: { n: 'theirs' } });
});

/** Opens the app in a browser with this profile. The browser is killed at the end of the test at the latest. */
async function openKillable(folder: string) {
  const { context, kill } = await launchKillableChromium(folder);
  onTestFinished(kill);
  const page = await context.newPage();
  await page.goto(app.url);
  await startDevice(page);
  return { page, kill };
}

async function killInTheMiddleOfChanges() {
  await makeUser(server, 'hal');
  const folder = await temporaryFolder();
  const saved = new Set<string>();
  for (let round = 0; round < KILLS; round++) {
    const { page, kill } = await openKillable(folder.path);
    if (round === 0) await signIn(page, 'hal');
    await page.evaluate('device.goOffline()');
    const before = saved.size;
    const enough = new Promise<void>((resolve) => {
      page.on('console', (message) => {
        // The browser has messages of its own, for example about an icon that the page does not have.
        const [, id] = /^saved (.+)$/.exec(message.text()) ?? [];
        if (id !== undefined) saved.add(id);
        if (saved.size >= before + 100 * (round + 1)) resolve();
      });
    });
    // Some changes are awaited, the others overtake them: the kill meets commits of both kinds.
    await page.evaluate(`(() => {
      const save = async (id) => { await orders.create({ n: 'x'.repeat(500) }, { id }); console.log('saved ' + id); };
      const endless = async () => {
        for (let at = 0; at < 100_000; at++) await Promise.all([save(\`${round}-\${at}-a\`), save(\`${round}-\${at}-b\`)]);
      };
      void endless();
    })()`);
    await enough;
    await kill();
  }
  const { page, kill } = await openKillable(folder.path);
  const shown = (await page.evaluate('orders.list().map(({ id }) => id)')) as string[];
  expect([...saved].filter((id) => !shown.includes(id))).toEqual([]);
  await page.evaluate('device.goOnline()');
  await until(page, 'device.uploads.list().length === 0');
  expect(Object.keys(await onServer('hal')).sort()).toEqual([...shown].sort());
  expect(await page.evaluate('device.problems.list()')).toEqual([]);
  await kill();
  await folder.remove();
}

it(
  '[TABS-6] when the browser is killed in the middle of changes, every change that was reported as stored is kept and sent once',
  killInTheMiddleOfChanges,
);

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
  await until(page, 'device.uploads.list().length === 0');
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
  await until(second, "device.status.getSnapshot().tab === 'leader'");
  await second.evaluate("orders.update('o', { n: 2 })");
  await second.evaluate('device.sync()');
  expect(await onServer('elin')).toEqual({ o: { n: 2 } });
});

/** Five tabs in a browser with a profile of its own, so that their device outlives the browser. */
class FiveTabs {
  readonly #folder: string;
  readonly #errors: (readonly string[])[] = [];
  #browser: KillableChromium | null = null;
  #isOffline = false;
  tabs: Page[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  get errors(): readonly string[] {
    return this.#errors.flat().filter((error) => !EXPECTED.some((pattern) => pattern.test(error)));
  }

  async start(): Promise<void> {
    this.#browser = await launchKillableChromium(this.#folder);
    this.tabs = [];
    while (this.tabs.length < 5) this.tabs.push(await this.#open());
    await this.#browser.context.setOffline(this.#isOffline);
  }

  async kill(): Promise<void> {
    await this.#browser?.kill();
  }

  async setOffline(isOffline: boolean): Promise<void> {
    this.#isOffline = isOffline;
    await this.#browser?.context.setOffline(isOffline);
  }

  async reload(at: number): Promise<void> {
    const tab = this.tabs[at] as Page;
    await this.#online(async () => {
      await tab.reload();
      await startDevice(tab);
    });
  }

  /** Opens another tab instead of this one: before this one is closed, or after it has crashed. */
  async replace(at: number, end: 'close' | 'crash'): Promise<void> {
    const tab = this.tabs[at] as Page;
    // A crashed tab takes no commands, so it is closed first.
    if (end === 'crash') {
      await crash(tab);
      await tab.close();
    }
    await this.#online(async () => {
      this.tabs[at] = await this.#open();
    });
    if (end === 'close') await tab.close();
  }

  async #open(): Promise<Page> {
    const page = await (this.#browser as KillableChromium).context.newPage();
    this.#errors.push(collectErrors(page));
    await page.goto(app.url);
    await startDevice(page);
    return page;
  }

  /** Pages are not cached, so they need a network to load. */
  async #online(load: () => Promise<void>): Promise<void> {
    await this.#browser?.context.setOffline(false);
    await load();
    await this.#browser?.context.setOffline(this.#isOffline);
  }
}

/** Ends the process of a tab as a crash does. */
async function crash(tab: Page): Promise<void> {
  const crashed = new Promise<void>((resolve) => tab.once('crash', () => resolve()));
  const session = await tab.context().newCDPSession(tab);
  // It is not answered, because there is nobody left to do so.
  session.send('Page.crash').catch(() => undefined);
  await crashed;
}

const valuesIn = async (tab: Page) =>
  new Map((await tab.evaluate('orders.list().map(({ id, attributes }) => [id, attributes.n])')) as [string, unknown][]);

it('[TABS-5] five tabs with random edits, reloads, closings, offline periods, crashes and kills of the browser converge without losing a saved edit', async () => {
  await makeUser(server, 'fay');
  const objects = Object.fromEntries(Array.from({ length: OBJECTS }, (_, n) => [`o${n}`, { n: 'start' }]));
  await admin.post('/app/v1/Order/push_objects', { user_id: 'fay', objects });
  const random = seededRandom(SEED);
  const below = (bound: number) => new DataView(random.bytes(4).buffer).getUint32(0) % bound;
  const folder = await temporaryFolder();
  const five = new FiveTabs(folder.path);
  onTestFinished(() => five.kill());
  await five.start();
  await signIn(five.tabs[0] as Page, 'fay');
  const expected = new Map<string, unknown>(Object.keys(objects).map((id) => [id, 'start']));
  const done: Record<string, number> = { edits: 0, reloads: 0, closings: 0, switches: 0, crashes: 0, kills: 0 };
  const count = (what: string) => {
    done[what] = (done[what] ?? 0) + 1;
  };
  /** Kills the browser while every tab is writing. Each of these changes is there afterwards or is not. */
  const kill = async (step: number) => {
    const changes = five.tabs.map((_, at): [string, string] => [`o${below(OBJECTS)}`, `${step}-${at}`]);
    await Promise.all(
      changes.map(([id, n], at) => five.tabs[at]?.evaluate(`void orders.update('${id}', { n: '${n}' })`)),
    );
    await five.kill();
    await five.start();
    const values = await valuesIn(five.tabs[0] as Page);
    for (const [id] of changes) {
      const value = values.get(id);
      expect([expected.get(id), ...changes.filter(([other]) => other === id).map(([, n]) => n)]).toContain(value);
      expected.set(id, value);
    }
  };
  for (let step = 0; step < STEPS; step++) {
    const at = below(five.tabs.length);
    const dice = below(120);
    const id = dice < 70 ? `o${below(OBJECTS)}` : `new${step}`;
    if (dice < 90) {
      const call = dice < 70 ? `update('${id}', { n: ${step} })` : `create({ n: ${step} }, { id: '${id}' })`;
      await five.tabs[at]?.evaluate(`orders.${call}.then(() => undefined)`);
      expected.set(id, step);
      count('edits');
    } else if (dice < 98) {
      await five.reload(at);
      count('reloads');
    } else if (dice < 102) {
      await five.replace(at, 'close');
      count('closings');
    } else if (dice < 106) {
      await five.replace(at, 'crash');
      count('crashes');
    } else if (dice < 118) {
      await five.setOffline(dice < 112);
      count('switches');
    } else {
      await kill(step);
      count('kills');
    }
  }
  await kill(STEPS);
  count('kills');
  await five.setOffline(false);
  for (const tab of five.tabs) {
    await until(tab, 'device.uploads.list().length === 0');
    await tab.evaluate('device.sync()');
    expect(Object.fromEntries(await valuesIn(tab))).toEqual(Object.fromEntries(expected));
    expect(await tab.evaluate('device.problems.list()')).toEqual([]);
  }
  const kept = Object.entries(await onServer('fay')).map(([id, { n }]) => [id, n]);
  expect(Object.fromEntries(kept)).toEqual(Object.fromEntries(expected));
  expect(five.errors).toEqual([]);
  if (process.env.TIDEMARK_TAB_STEPS !== undefined) console.log('five tabs:', JSON.stringify(done));
  await five.kill();
  await folder.remove();
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
