import {
  Caller,
  type KillableBrowser,
  launchKillableChromium,
  launchKillableFirefox,
  makeUser,
  type SdkApp,
  seededRandom,
  signIn,
  startDevice,
  startSdkApp,
  type Tab,
  temporaryFolder,
  untilInTab,
} from '@tidemark/testing';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';

// `node scripts/tabs.mjs` makes more steps, and `node scripts/tabs.mjs --firefox` makes them in Firefox.
const STEPS = Number(process.env.TIDEMARK_TAB_STEPS ?? 40);
const SEED = Number(process.env.TIDEMARK_TAB_SEED ?? 1);
const OBJECTS = Number(process.env.TIDEMARK_TAB_OBJECTS ?? 50);
const launch = process.env.TIDEMARK_TAB_BROWSER === 'firefox' ? launchKillableFirefox : launchKillableChromium;
/** How often the browser is killed in the middle of changes. */
const KILLS = process.env.TIDEMARK_TAB_STEPS === undefined ? 2 : 6;
/** Browsers log every request that they could not make, and Chromium every refusal. */
const EXPECTED = [
  /ERR_INTERNET_DISCONNECTED/,
  /ERR_NETWORK_CHANGED/,
  /ERR_ABORTED/,
  /410 \(Gone\)/,
  /CORS request did not succeed/,
];

let app: SdkApp;
let server: TestServer;
let admin: Caller;

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

const onServer = async (user: string) =>
  (await admin.get(`/rc/v1/users/${user}/sources/Order/docs/md`)).body as Record<string, { readonly n: unknown }>;

/** Opens the app in a browser with this profile. The browser is killed at the end of the test at the latest. */
async function openApp(folder: string) {
  const browser = await launch(folder);
  onTestFinished(() => browser.kill());
  const tab = await browser.openTab(app.url);
  await startDevice(tab, server.url);
  return { tab, kill: () => browser.kill() };
}

async function killInTheMiddleOfChanges() {
  await makeUser(server, 'hal');
  const folder = await temporaryFolder();
  const saved = new Set<string>();
  for (let round = 0; round < KILLS; round++) {
    const { tab, kill } = await openApp(folder.path);
    if (round === 0) await signIn(tab, 'hal');
    await tab.evaluate('device.goOffline()');
    // Some changes are awaited, the others overtake them: the kill meets commits of both kinds.
    const reported = await tab.evaluate(`new Promise((resolve) => {
      const saved = [];
      const save = async (id) => {
        await orders.create({ n: 'x'.repeat(500) }, { id });
        saved.push(id);
        if (saved.length === ${100 * (round + 1)}) resolve(saved);
      };
      const endless = async () => {
        for (let at = 0; at < 100_000; at++) await Promise.all([save(\`${round}-\${at}-a\`), save(\`${round}-\${at}-b\`)]);
      };
      void endless();
    })`);
    for (const id of reported as string[]) saved.add(id);
    await kill();
  }
  const { tab, kill } = await openApp(folder.path);
  const shown = (await tab.evaluate('orders.list().map(({ id }) => id)')) as string[];
  expect([...saved].filter((id) => !shown.includes(id))).toEqual([]);
  await tab.evaluate('device.goOnline()');
  await untilInTab(tab, 'device.uploads.list().length === 0');
  expect(Object.keys(await onServer('hal')).sort()).toEqual([...shown].sort());
  expect(await tab.evaluate('device.problems.list()')).toEqual([]);
  await kill();
  await folder.remove();
}

it(
  '[TABS-6] when the browser is killed in the middle of changes, every change that was reported as stored is kept and sent once',
  killInTheMiddleOfChanges,
);

/** Five tabs in a browser with a profile of its own, so that their device outlives the browser. */
class FiveTabs {
  readonly #folder: string;
  readonly #browsers: KillableBrowser[] = [];
  #browser: KillableBrowser | null = null;
  #isOffline = false;
  tabs: Tab[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  get errors(): readonly string[] {
    const errors = this.#browsers.flatMap((browser) => browser.errors);
    return errors.filter((error) => !EXPECTED.some((pattern) => pattern.test(error)));
  }

  async start(): Promise<void> {
    this.#browser = await launch(this.#folder);
    this.#browsers.push(this.#browser);
    this.tabs = [];
    while (this.tabs.length < 5) this.tabs.push(await this.#open());
    await this.#browser.setOffline(this.#isOffline);
  }

  async kill(): Promise<void> {
    await this.#browser?.kill();
  }

  async setOffline(isOffline: boolean): Promise<void> {
    this.#isOffline = isOffline;
    await this.#browser?.setOffline(isOffline);
  }

  async reload(at: number): Promise<void> {
    const tab = this.tabs[at] as Tab;
    await this.#online(async () => {
      await tab.reload();
      await startDevice(tab, server.url);
    });
  }

  /**
   * Opens another tab instead of this one: before this one is closed, or after it has crashed, if the browser can do that.
   * Returns whether it crashed.
   */
  async replace(at: number, end: 'close' | 'crash'): Promise<boolean> {
    const tab = this.tabs[at] as Tab;
    const crashes = end === 'crash' && tab.crash !== undefined;
    // A crashed tab takes no commands, so it is closed first.
    if (crashes) {
      await tab.crash?.();
      await tab.close();
    }
    await this.#online(async () => {
      this.tabs[at] = await this.#open();
    });
    if (!crashes) await tab.close();
    return crashes;
  }

  async #open(): Promise<Tab> {
    const tab = await (this.#browser as KillableBrowser).openTab(app.url);
    await startDevice(tab, server.url);
    return tab;
  }

  /** Pages are not cached, so they need a network to load. */
  async #online(load: () => Promise<void>): Promise<void> {
    await this.#browser?.setOffline(false);
    await load();
    await this.#browser?.setOffline(this.#isOffline);
  }
}

const valuesIn = async (tab: Tab) =>
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
  await signIn(five.tabs[0] as Tab, 'fay');
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
    const values = await valuesIn(five.tabs[0] as Tab);
    for (const [id] of changes) {
      const value = values.get(id);
      expect([expected.get(id), ...changes.filter(([other]) => other === id).map(([, n]) => n)]).toContain(value);
      expected.set(id, value);
    }
  };
  for (let step = 0; step < STEPS; step++) {
    const at = below(five.tabs.length);
    const roll = below(120);
    const id = roll < 70 ? `o${below(OBJECTS)}` : `new${step}`;
    if (roll < 90) {
      const call = roll < 70 ? `update('${id}', { n: ${step} })` : `create({ n: ${step} }, { id: '${id}' })`;
      await five.tabs[at]?.evaluate(`orders.${call}.then(() => undefined)`);
      expected.set(id, step);
      count('edits');
    } else if (roll < 98) {
      await five.reload(at);
      count('reloads');
    } else if (roll < 102) {
      await five.replace(at, 'close');
      count('closings');
    } else if (roll < 106) {
      count((await five.replace(at, 'crash')) ? 'crashes' : 'closings');
    } else if (roll < 118) {
      await five.setOffline(roll < 112);
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
    await untilInTab(tab, 'device.uploads.list().length === 0');
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
