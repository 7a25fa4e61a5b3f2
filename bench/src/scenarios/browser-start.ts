import { launchChromium, type SdkApp, startSdkApp } from '@tidemark/testing/kit';
import { PAGE_FUNCTIONS, sessionOf } from '../browser-page.ts';
import { type BenchDevice, type DeviceFixture, makeDevices, openDeviceFixture } from '../device-fixture.ts';
import { objectsFrom, SOURCE } from '../fixture.ts';
import { longestMs, type MainThreadTask, mainThreadTasks, TASK_CATEGORIES } from '../main-thread-tasks.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';
import { taskRow } from '../task-row.ts';

const OBJECTS = 50_000;
const BATCH = 10_000;
const ROUNDS = 3;

type Browser = Awaited<ReturnType<typeof launchChromium>>;

/** What one round in a new profile of the browser has measured. */
interface Round {
  readonly firstSyncMs: number;
  readonly firstSyncTasks: readonly MainThreadTask[];
  readonly firstQueryMs: number;
  readonly loadedMs: number;
  readonly rawPutsMs: number;
  readonly rawReadMs: number;
}

/** Syncing 50,000 objects into IndexedDB and starting with them, in Chromium. */
export async function browserStart(): Promise<readonly Row[]> {
  const app = await startSdkApp();
  const { fixture, prepared: devices } = await openDeviceFixture(
    async (tidemark) => {
      await tidemark.sources.declare({ name: SOURCE, partition_type: 'app' });
      for (let start = 0; start < OBJECTS; start += BATCH) {
        await tidemark.objects.fastInsert({ source: SOURCE, objects: objectsFrom(start, BATCH) });
      }
      return makeDevices(tidemark, ROUNDS);
    },
    { TIDEMARK_DEVICES_ORIGINS: app.url },
  );
  const browser = await launchChromium();
  const rounds: Round[] = [];
  for (const device of devices) rounds.push(await measureRound(browser, app, fixture, device));
  await browser.close();
  await fixture.close();
  await app.close();
  return rowsOf(rounds);
}

async function measureRound(
  browser: Browser,
  app: SdkApp,
  fixture: DeviceFixture,
  device: BenchDevice,
): Promise<Round> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const load = async () => {
    await page.goto(app.url);
    await page.evaluate(PAGE_FUNCTIONS);
  };
  const options = JSON.stringify({ url: fixture.url, session: sessionOf(device) });
  await load();
  await browser.startTracing(page, { categories: [...TASK_CATEGORIES] });
  await page.evaluate("performance.mark('tab')");
  const firstSyncMs = await page.evaluate<number>(`firstSync(${options})`);
  const firstSyncTasks = mainThreadTasks(await browser.stopTracing(), 'tab');
  await load();
  const started = await page.evaluate<Pick<Round, 'firstQueryMs' | 'loadedMs'>>(`start(${options})`);
  const rawPutsMs = await page.evaluate<number>('rawPuts()');
  const rawReadMs = await page.evaluate<number>('rawRead()');
  await context.close();
  return { firstSyncMs, firstSyncTasks, ...started, rawPutsMs, rawReadMs };
}

function rowsOf(rounds: readonly Round[]): readonly Row[] {
  const ms = (of: (round: Round) => number) => median(rounds.map(of));
  const [firstSyncMs, rawPutsMs] = [ms((round) => round.firstSyncMs), ms((round) => round.rawPutsMs)];
  const [firstQueryMs, loadedMs] = [ms((round) => round.firstQueryMs), ms((round) => round.loadedMs)];
  const rawReadMs = ms((round) => round.rawReadMs);
  return [
    taskRow(
      'longest task of a first sync in Chromium',
      OBJECTS,
      ms(({ firstSyncTasks }) => longestMs(firstSyncTasks)),
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
