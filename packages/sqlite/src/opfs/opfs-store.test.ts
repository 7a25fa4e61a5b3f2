import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Caller,
  diskPartContract,
  type KillableBrowser,
  launchKillableChromium,
  localStoreContract,
  makeUser,
  type SdkApp,
  startOpfsApp,
  type Tab,
  temporaryFolder,
  USER_PASSWORD,
} from '@tidemark/testing';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { SqliteDriver, SqliteRow } from '../sqlite-driver.ts';
import { openSqliteStore } from '../sqlite-store.ts';

const CODE = `
import { openDevice } from '@tidemark/client';
import { openOpfsStore } from '@tidemark/sqlite/opfs';
import { WorkerCalls } from '/worker-calls.js';
import OpfsWorker from '/worker.js?worker';
Object.assign(globalThis, { openDevice, openOpfsStore, startCalls: () => new WorkerCalls(new OpfsWorker()) });
`;

let app: SdkApp;
let server: TestServer;
let admin: Caller;

beforeAll(async () => {
  app = await startOpfsApp(CODE);
  const { devices } = testConfig('');
  server = await startTestServer({ devices: { ...devices, origins: [app.url] } });
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
  await makeUser(server, 'ada');
});

afterAll(async () => {
  admin.close();
  await server.close();
  app.close();
});

async function openBrowser(folder: string) {
  const browser = await launchKillableChromium(folder);
  onTestFinished(() => browser.kill());
  return browser;
}

const untilReady = (tab: Tab) =>
  tab.evaluate(`new Promise((resolve) => {
    const look = () => (globalThis.openOpfsStore ? resolve() : setTimeout(look, 20));
    look();
  })`);

/** A device with its source on the disk, as `device` and `orders` of the page. */
async function openDevice(tab: Tab): Promise<void> {
  await untilReady(tab);
  await tab.evaluate(`(async () => {
    globalThis.device = await openDevice({ url: ${JSON.stringify(server.url)}, store: await openOpfsStore() });
    globalThis.orders = device.source('Order', { keep: 'disk', indexes: ['n'] });
  })()`);
}

/** A driver in this process whose calls are made by a worker in a page. */
async function driverIn(tab: Tab, pool: string): Promise<SqliteDriver> {
  await tab.evaluate('globalThis.calls = startCalls()');
  const call = (name: string, given: object) =>
    tab.evaluate(`calls.call('${name}', ${JSON.stringify(given)}, { ms: 60000, advice: '' })`);
  await call('start', { pool, waitMs: 60_000 });
  const database = await call('open', { name: 'device.db' });
  return {
    execute: (statements) => call('execute', { database, statements }),
    run: (statement, values) => call('run', { database, statement, values }),
    all: async (statement, values) => (await call('all', { database, statement, values })) as SqliteRow[],
    close: async () => {
      await call('close', { database });
      await tab.evaluate(`calls.end(new Error('closed'))`);
    },
  };
}

describe('SQLite in a worker of a browser', () => {
  let browser: KillableBrowser;
  let tab: Tab;
  let folder: string;
  let places = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
    browser = await launchKillableChromium(folder);
    tab = await browser.openTab(app.url);
    await untilReady(tab);
  });

  afterAll(async () => {
    await browser.kill();
    await rm(folder, { recursive: true, force: true });
  });

  const engine = {
    isDurable: true,
    newPlace: async () => {
      const pool = `place-${places++}`;
      return {
        open: async () => openSqliteStore(await driverIn(tab, pool)),
        remove: async () => undefined,
      };
    },
  };
  localStoreContract('the SQLite store over files of the browser', engine);
  diskPartContract('the SQLite store over files of the browser', engine);
});

it('[OPFS-1] a store of an app that Vite built keeps what was committed over a reload', async () => {
  const folder = await temporaryFolder();
  const browser = await openBrowser(folder.path);
  const tab = await browser.openTab(app.url);
  await untilReady(tab);
  await tab.evaluate(`(async () => {
    const store = await openOpfsStore();
    await store.commit([{ table: 'facts', key: ['', 'a'], value: 'one' }]);
  })()`);
  await tab.reload();
  await untilReady(tab);
  const rows = await tab.evaluate(`openOpfsStore().then((store) => store.load())`);
  expect(rows).toEqual([{ table: 'facts', key: ['', 'a'], value: 'one' }]);
  expect(browser.errors).toEqual([]);
});

it('[SQLITE-6] the app of these tests has the lines of the guide about browsers', async () => {
  const kit = await readFile(new URL('../../../testing/src/kit/opfs-app.ts', import.meta.url), 'utf8');
  const here = kit + (await readFile(new URL(import.meta.url), 'utf8'));
  const guide = await readFile(new URL('../../../../docs/sdk/sqlite.md', import.meta.url), 'utf8');
  for (const line of ["worker: { format: 'es' },", 'await openOpfsStore() })']) {
    expect([line, guide.includes(line), here.split(line).length > 2]).toEqual([line, true, true]);
  }
});

it('[OPFS-2] a second tab is refused with a message that says why, and opens the store after the first was closed', async () => {
  const browser = await openBrowser((await temporaryFolder()).path);
  const first = await browser.openTab(app.url);
  await untilReady(first);
  await first.evaluate(`openOpfsStore().then((store) => { globalThis.store = store; })`);
  await first.evaluate(`store.commit([{ table: 'facts', key: ['', 'a'], value: 'of the first tab' }])`);
  const second = await browser.openTab(app.url);
  await untilReady(second);
  const opened = `openOpfsStore({ inUseWaitMs: 100 }).then((store) => store.load(), ({ code, detail }) => [code, detail])`;
  expect(await second.evaluate(opened)).toEqual(['store_in_use', expect.stringContaining('another tab or window')]);
  await first.close();
  const rows = await second.evaluate(`openOpfsStore().then((store) => store.load())`);
  expect(rows).toEqual([{ table: 'facts', key: ['', 'a'], value: 'of the first tab' }]);
  expect(browser.errors).toEqual([]);
});

it('[OPFS-3] a device with a source on the disk has what it saved after a reload, and after kills in the middle of commits', async () => {
  const folder = await temporaryFolder();
  const saved = new Set<string>();
  for (let round = 0; round < 3; round++) {
    const browser = await openBrowser(folder.path);
    const tab = await browser.openTab(app.url);
    await openDevice(tab);
    if (round === 0) {
      await tab.evaluate(`device.signIn(${JSON.stringify({ login: 'ada', password: USER_PASSWORD })})`);
      await tab.evaluate('device.sync()');
      await tab.reload();
      await openDevice(tab);
    }
    await tab.evaluate('device.goOffline()');
    for (const id of saved) expect(await tab.evaluate(`orders.fetch('${id}').then((found) => found?.id)`)).toBe(id);
    const ids = await tab.evaluate(`new Promise((resolve) => {
      const saved = [];
      const save = async (id) => {
        await orders.create({ n: 1, text: 'x'.repeat(500) }, { id });
        saved.push(id);
        if (saved.length === 20) resolve(saved);
      };
      (async () => {
        for (let n = 0; n < 500; n++) {
          if (n % 2 === 0) await save('r${round}-' + n);
          else void save('r${round}-' + n);
        }
      })();
    })`);
    for (const id of ids as readonly string[]) saved.add(id);
    await browser.kill();
  }
  const browser = await openBrowser(folder.path);
  const tab = await browser.openTab(app.url);
  await openDevice(tab);
  await tab.evaluate('device.sync()');
  const stored = await admin.get('/rc/v1/users/ada/sources/Order/docs/md');
  expect(Object.keys(stored.body as object)).toEqual(expect.arrayContaining([...saved]));
  expect(await tab.evaluate(`device.problems.list().length + device.uploads.list().length`)).toBe(0);
});

it('[OPFS-4] a worker that dies, is not served or does not answer rejects what waits, and says what to try', async () => {
  const browser = await openBrowser((await temporaryFolder()).path);
  const tab = await browser.openTab(app.url);
  await untilReady(tab);
  const worker = (code: string) =>
    `() => new Worker(URL.createObjectURL(new Blob([${JSON.stringify(code)}], { type: 'text/javascript' })))`;
  const opened = (code: string) =>
    tab.evaluate(`openOpfsStore({ inUseWaitMs: 0, callMsMax: 200, worker: ${worker(code)} })
      .then(() => 'open', ({ code, detail }) => [code, detail])`);
  expect(await opened('throw new Error("out of order")')).toEqual([
    'store_failed',
    expect.stringContaining('out of order'),
  ]);
  const silent = `onmessage = ({ data: { id, name } }) => { if (name === 'start') postMessage({ id, answer: null }); }`;
  expect(await opened(silent)).toEqual([
    'store_failed',
    expect.stringContaining('has not answered "list" within 200 ms'),
  ]);
});
