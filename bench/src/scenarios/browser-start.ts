import { launchChromium, type SdkApp, startSdkApp } from '@tidemark/testing/kit';
import { type BenchDevice, type DeviceWorld, makeDevices, openDeviceWorld } from '../device-world.ts';
import { type MainThreadTask, mainThreadTasks } from '../main-thread-tasks.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';
import { objectsFrom, SOURCE } from '../world.ts';

const OBJECTS = 50_000;
const BATCH = 10_000;
const ROUNDS = 3;
const TASK_MS_MAX = 50;

type Browser = Awaited<ReturnType<typeof launchChromium>>;

/** What one round in a new profile of the browser has measured. */
interface Round {
  readonly firstSyncMs: number;
  readonly firstSyncTasks: readonly MainThreadTask[];
  readonly firstQueryMs: number;
  readonly loadedMs: number;
  readonly startTasks: readonly MainThreadTask[];
  readonly rawPutsMs: number;
  readonly rawReadMs: number;
}

/** Syncing 50,000 objects into IndexedDB and starting with them, in Chromium, and how long that holds the main thread. */
export async function browserStart(): Promise<readonly Row[]> {
  const app = await startSdkApp();
  const { world, furniture: devices } = await openDeviceWorld(
    async (tidemark) => {
      await tidemark.sources.declare({ name: SOURCE, partition_type: 'app' });
      for (let start = 0; start < OBJECTS; start += BATCH) {
        await tidemark.fastInsert({ source: SOURCE, objects: objectsFrom(start, BATCH) });
      }
      return makeDevices(tidemark, ROUNDS);
    },
    { TIDEMARK_DEVICES_ORIGINS: app.url },
  );
  const browser = await launchChromium();
  const rounds: Round[] = [];
  for (const device of devices) rounds.push(await measureRound(browser, app, world, device));
  await browser.close();
  await world.close();
  await app.close();
  return rowsOf(rounds);
}

async function measureRound(browser: Browser, app: SdkApp, world: DeviceWorld, device: BenchDevice): Promise<Round> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const traced = async <T>(script: string) => {
    await page.goto(app.url);
    await page.evaluate(OPENER);
    await browser.startTracing(page, { categories: ['toplevel'] });
    const measured = await page.evaluate<T>(script);
    return { measured, tasks: mainThreadTasks(await browser.stopTracing()) };
  };
  const options = JSON.stringify({ url: world.url, session: sessionOf(device) });
  const firstSync = await traced<number>(`firstSync(${options})`);
  const start = await traced<Pick<Round, 'firstQueryMs' | 'loadedMs'>>(`start(${options})`);
  const rawPutsMs = await page.evaluate<number>('rawPuts()');
  const rawReadMs = await page.evaluate<number>('rawRead()');
  await context.close();
  return {
    firstSyncMs: firstSync.measured,
    firstSyncTasks: firstSync.tasks,
    ...start.measured,
    startTasks: start.tasks,
    rawPutsMs,
    rawReadMs,
  };
}

/** Functions of the page. Raw access stores one row per object, in transactions of 1,000. */
const OPENER = `(async () => {
  const { openDevice } = await import('@tidemark/client');
  const { openIndexedDbStore } = await import('@tidemark/client/indexeddb-store');
  const answered = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const timed = async (work) => {
    const startMs = performance.now();
    await work();
    return performance.now() - startMs;
  };
  const open = async ({ url, store }) => {
    globalThis.device = await openDevice({ url, store, live: false, start: 'last_results' });
    const query = device.source('${SOURCE}').query({ limit: 50 });
    query.subscribe(() => undefined);
    return query;
  };
  const loaded = () => new Promise((resolve) => {
    const look = () => { if (!device.status.getSnapshot().isLoading) resolve(); };
    device.status.subscribe(look);
    look();
  });
  const rawDatabase = () => {
    const request = indexedDB.open('raw', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('objects');
    return answered(request);
  };
  Object.assign(globalThis, {
    firstSync: async ({ url, session }) => {
      const store = await openIndexedDbStore();
      await store.commit(session);
      const ms = await timed(async () => {
        const query = await open({ url, store });
        await device.sync();
        if (query.list().length !== 50) throw new Error('the first sync brought nothing');
      });
      await device.close();
      return ms;
    },
    start: async ({ url }) => {
      let firstQueryMs;
      const loadedMs = await timed(async () => {
        firstQueryMs = await timed(async () => {
          const query = await open({ url, store: await openIndexedDbStore() });
          if (query.list().length !== 50) throw new Error('the device is empty');
        });
        await loaded();
      });
      return { firstQueryMs, loadedMs };
    },
    rawPuts: async () => {
      const rows = device.source('${SOURCE}').list().map(({ id, attributes }) => [['${SOURCE}', id], attributes]);
      const db = await rawDatabase();
      return timed(async () => {
        for (let from = 0; from < rows.length; from += 1_000) {
          const tx = db.transaction('objects', 'readwrite', { durability: 'relaxed' });
          for (const [key, value] of rows.slice(from, from + 1_000)) tx.objectStore('objects').put(value, key);
          await new Promise((resolve, reject) => { tx.oncomplete = resolve; tx.onabort = () => reject(tx.error); });
        }
      });
    },
    rawRead: () => timed(async () => {
      const objects = (await rawDatabase()).transaction('objects').objectStore('objects');
      await Promise.all([answered(objects.getAllKeys()), answered(objects.getAll())]);
    }),
  });
})()`;

function sessionOf({ user: userId, client: clientId, token }: BenchDevice) {
  const session = { token, userId, clientId, givenAtMs: Date.now(), expiresAtMs: Date.now() + 86_400_000 };
  return [
    { table: 'facts', key: ['', 'session'], value: session },
    { table: 'facts', key: ['', 'owner'], value: { userId, clientId } },
  ];
}

function rowsOf(rounds: readonly Round[]): readonly Row[] {
  const ms = (of: (round: Round) => number) => median(rounds.map(of));
  const [firstSyncMs, rawPutsMs] = [ms((round) => round.firstSyncMs), ms((round) => round.rawPutsMs)];
  const [firstQueryMs, loadedMs] = [ms((round) => round.firstQueryMs), ms((round) => round.loadedMs)];
  const rawReadMs = ms((round) => round.rawReadMs);
  return [
    taskRow(
      'longest task of a first sync in Chromium',
      ms(({ firstSyncTasks }) => longestMs(firstSyncTasks)),
    ),
    taskRow(
      'longest task of a start in Chromium',
      ms(({ startTasks }) => longestMs(startTasks)),
    ),
    {
      name: 'first sync into IndexedDB',
      measured: `${firstSyncMs.toFixed(0)} ms for ${OBJECTS}`,
      against: `${rawPutsMs.toFixed(0)} ms to put each object`,
      ratio: firstSyncMs / rawPutsMs,
      bound: { atMost: 1.5 },
    },
    {
      name: 'start to the first query in Chromium',
      measured: `${firstQueryMs.toFixed(0)} ms with ${OBJECTS}`,
      against: `${loadedMs.toFixed(0)} ms until everything is loaded`,
      ratio: firstQueryMs / loadedMs,
      bound: { atMost: 0.2 },
    },
    {
      name: 'start until everything is loaded in Chromium',
      measured: `${loadedMs.toFixed(0)} ms with ${OBJECTS}`,
      against: `${rawReadMs.toFixed(0)} ms to read objects that were put one by one`,
      ratio: loadedMs / rawReadMs,
      bound: { atMost: 1 },
    },
  ];
}

function taskRow(name: string, longest: number): Row {
  return {
    name,
    measured: `${longest.toFixed(0)} ms CPU with ${OBJECTS}`,
    against: `${TASK_MS_MAX} ms allowed`,
    ratio: longest / TASK_MS_MAX,
    bound: { atMost: 1 },
  };
}

function longestMs(tasks: readonly MainThreadTask[]): number {
  return Math.max(0, ...tasks.map(({ cpuMs }) => cpuMs));
}
