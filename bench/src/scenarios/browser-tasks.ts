import { launchChromium, type SdkApp, startSdkApp } from '@tidemark/testing/kit';
import { PAGE_FUNCTIONS, sessionOf } from '../browser-page.ts';
import { type BenchDevice, type DeviceFixture, makeDevices, openDeviceFixture } from '../device-fixture.ts';
import { objectsFrom, SOURCE } from '../fixture.ts';
import { longestMs, mainThreadTasks, TASK_CATEGORIES } from '../main-thread-tasks.ts';
import type { Row } from '../row.ts';
import { taskRow } from '../task-row.ts';

const SIZES = [50_000, 100_000];
const BATCH = 10_000;
const ROUNDS = 3;
const STARTS = ['loaded', 'last_results'] as const;

type Browser = Awaited<ReturnType<typeof launchChromium>>;
type Start = (typeof STARTS)[number];

/** The longest tasks while a device is opened, in milliseconds of CPU. */
interface Longest {
  readonly start: Start;
  readonly atStart: number;
  /** In the first tab and in the second one, while the second opens. */
  readonly inFirst: number;
  readonly inSecond: number;
}

/** How long opening a device with many objects holds the main thread of its tab in Chromium, and those of other tabs. */
export async function browserTasks(): Promise<readonly Row[]> {
  const app = await startSdkApp();
  const browser = await launchChromium();
  const rows: Row[] = [];
  for (const objects of SIZES) rows.push(...(await measureSize(browser, app, objects)));
  await browser.close();
  await app.close();
  return rows;
}

async function measureSize(browser: Browser, app: SdkApp, objects: number): Promise<readonly Row[]> {
  const { fixture, prepared: devices } = await openDeviceFixture(
    async (tidemark) => {
      await tidemark.sources.declare({ name: SOURCE, partition_type: 'app' });
      for (let from = 0; from < objects; from += BATCH) {
        await tidemark.objects.fastInsert({ source: SOURCE, objects: objectsFrom(from, BATCH) });
      }
      return makeDevices(tidemark, ROUNDS);
    },
    { TIDEMARK_DEVICES_ORIGINS: app.url },
  );
  const measured: Longest[] = [];
  for (const device of devices) measured.push(...(await measureRound(browser, app, fixture, device)));
  await fixture.close();
  return STARTS.flatMap((start) => {
    const rounds = measured.filter((round) => round.start === start);
    // The load of the machine makes tasks longer, and never shorter.
    const least = (of: (round: Longest) => number) => Math.min(...rounds.map(of));
    return [
      taskRow(
        `longest task at start in Chromium, ${start}`,
        objects,
        least(({ atStart }) => atStart),
      ),
      taskRow(
        `the same in the first tab while a second opens`,
        objects,
        least(({ inFirst }) => inFirst),
      ),
      taskRow(
        `the same in the second tab`,
        objects,
        least(({ inSecond }) => inSecond),
      ),
    ];
  });
}

async function measureRound(
  browser: Browser,
  app: SdkApp,
  fixture: DeviceFixture,
  device: BenchDevice,
): Promise<readonly Longest[]> {
  const context = await browser.newContext();
  const openTab = async (name: string) => {
    const page = await context.newPage();
    await page.goto(app.url);
    await page.evaluate(PAGE_FUNCTIONS);
    return { page, name };
  };
  type Tab = Awaited<ReturnType<typeof openTab>>;
  const traced = async (tabs: readonly Tab[], script: string) => {
    await browser.startTracing(undefined, { categories: [...TASK_CATEGORIES] });
    for (const { page, name } of tabs) await page.evaluate(`performance.mark('${name}')`);
    await tabs.at(-1)?.page.evaluate(script);
    const trace = await browser.stopTracing();
    return tabs.map(({ name }) => longestMs(mainThreadTasks(trace, name)));
  };
  const options = { url: fixture.url, session: sessionOf(device) };
  const syncing = await openTab('syncing tab');
  await syncing.page.evaluate(`firstSync(${JSON.stringify(options)})`);
  await syncing.page.close();
  const measured: Longest[] = [];
  for (const start of STARTS) {
    const script = `startAndSync(${JSON.stringify({ url: fixture.url, start })})`;
    const first = await openTab('first tab');
    const [atStart = 0] = await traced([first], script);
    const second = await openTab('second tab');
    const [inFirst = 0, inSecond = 0] = await traced([first, second], script);
    measured.push({ start, atStart, inFirst, inSecond });
    for (const { page } of [second, first]) await page.close();
  }
  await context.close();
  return measured;
}
