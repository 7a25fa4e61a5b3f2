import { launchChromium, type SdkApp, startOpfsApp } from '@tidemark/testing/kit';
import { sessionOf } from '../browser-page.ts';
import { type BenchDevice, makeDevices, openDeviceFixture } from '../device-fixture.ts';
import { objectsFrom, SOURCE } from '../fixture.ts';
import { longestMs, mainThreadTasks, TASK_CATEGORIES } from '../main-thread-tasks.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';
import { taskRow } from '../task-row.ts';

const OBJECTS = 200_000;
const BATCH = 10_000;
const ROUNDS = 3;
const START_MS_MAX = 300;

const CODE = `
import { openDevice } from '@tidemark/client';
import { openOpfsStore } from '@tidemark/sqlite/opfs';
const open = async (url) => {
  globalThis.device = await openDevice({ url, store: await openOpfsStore(), live: false });
  globalThis.source = device.source('${SOURCE}', { keep: 'disk', indexes: ['name'] });
};
Object.assign(globalThis, {
  firstSync: async ({ url, session }) => {
    const store = await openOpfsStore();
    await store.commit(session);
    await store.close();
    await open(url);
    await device.sync();
    const rows = await source.query({ orderBy: 'name', limit: 50 }).fetch();
    if (rows.length !== 50) throw new Error('the first sync brought nothing');
    await device.close();
  },
  start: async ({ url }) => {
    const startMs = performance.now();
    await open(url);
    const rows = await source.query({ orderBy: 'name', limit: 50 }).fetch();
    if (rows.length !== 50) throw new Error('the device is empty');
    return performance.now() - startMs;
  },
  // A list that is open while an object in it changes, and the sync that follows.
  edit: async () => {
    const query = source.query({ orderBy: 'name', limit: 50 });
    query.subscribe(() => undefined);
    const [first] = await query.fetch();
    await source.update(first.id, { stock: 7 });
    await device.sync();
  },
});
`;

type Browser = Awaited<ReturnType<typeof launchChromium>>;

interface Measured {
  readonly atFirstSync: number;
  readonly atStart: number;
  readonly atEdit: number;
  readonly startMs: number;
}

/** How long a device with 200,000 objects on the disk, in SQLite over OPFS, holds the main thread of its page in Chromium. */
export async function browserDisk(): Promise<readonly Row[]> {
  const app = await startOpfsApp(CODE);
  const browser = await launchChromium();
  const { fixture, prepared: devices } = await openDeviceFixture(
    async (tidemark) => {
      await tidemark.sources.declare({ name: SOURCE, partition_type: 'app' });
      for (let from = 0; from < OBJECTS; from += BATCH) {
        await tidemark.objects.fastInsert({ source: SOURCE, objects: objectsFrom(from, BATCH) });
      }
      return makeDevices(tidemark, ROUNDS);
    },
    { TIDEMARK_DEVICES_ORIGINS: app.url },
  );
  const rounds: Measured[] = [];
  for (const device of devices) rounds.push(await measureRound(browser, app, fixture.url, device));
  await fixture.close();
  await browser.close();
  await app.close();
  // The load of the machine makes tasks longer, and never shorter.
  const least = (of: (round: Measured) => number) => Math.min(...rounds.map(of));
  const startMs = median(rounds.map((round) => round.startMs));
  return [
    taskRow(
      'longest task of a first sync onto the disk in Chromium',
      OBJECTS,
      least((round) => round.atFirstSync),
    ),
    taskRow(
      'longest task at start, on the disk in Chromium',
      OBJECTS,
      least((round) => round.atStart),
    ),
    taskRow(
      'longest task of an edit in a list on the disk in Chromium',
      OBJECTS,
      least((round) => round.atEdit),
    ),
    {
      name: 'start up to the first 50 rows, on the disk in Chromium',
      measured: `${startMs.toFixed(0)} ms`,
      against: `${START_MS_MAX} ms allowed`,
      ratio: startMs / START_MS_MAX,
      bound: { atMost: 1 },
    },
  ];
}

async function measureRound(browser: Browser, app: SdkApp, url: string, device: BenchDevice): Promise<Measured> {
  const context = await browser.newContext();
  const traced = async (steps: readonly string[]) => {
    const page = await context.newPage();
    await page.goto(app.url);
    await page.waitForFunction('globalThis.firstSync !== undefined');
    const found: { longest: number; result: unknown }[] = [];
    for (const [at, step] of steps.entries()) {
      await browser.startTracing(undefined, { categories: [...TASK_CATEGORIES] });
      await page.evaluate(`performance.mark('step ${at}')`);
      const result = await page.evaluate(step);
      found.push({ longest: longestMs(mainThreadTasks(await browser.stopTracing(), `step ${at}`)), result });
    }
    await page.close();
    return found;
  };
  const [first] = await traced([`firstSync(${JSON.stringify({ url, session: sessionOf(device) })})`]);
  const [start, edit] = await traced([`start(${JSON.stringify({ url })})`, 'edit()']);
  await context.close();
  return {
    atFirstSync: first?.longest ?? Number.NaN,
    atStart: start?.longest ?? Number.NaN,
    atEdit: edit?.longest ?? Number.NaN,
    startMs: Number(start?.result),
  };
}
