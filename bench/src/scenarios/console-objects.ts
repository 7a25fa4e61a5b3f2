import { launchChromium } from '@tidemark/testing/kit';
import { openDeviceFixture } from '../device-fixture.ts';
import { objectsFrom } from '../fixture.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';

const MANY = 100_000;
const FEW = 1_000;
const BATCH = 10_000;
const ROUNDS = 3;
/** The first table of a page is not measured, because the browser compiles the code meanwhile. */
const SOURCES = { None: 0, First: FEW, Few: FEW, Many: MANY } as const;
const FIRST_ROWS_MS_MAX = 300;
const SCROLLED_PAGES = 10;
const PASSWORD = 'only for this benchmark of the console';

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof launchChromium>>['newPage']>>;

/** The screen Data of the console in Chromium, with many objects and with few. */
export async function consoleObjects(): Promise<readonly Row[]> {
  const { fixture } = await openDeviceFixture(
    async (tidemark) => {
      for (const [source, count] of Object.entries(SOURCES)) {
        await tidemark.sources.declare({ name: source, partition_type: 'app' });
        for (let start = 0; start < count; start += BATCH) {
          await tidemark.objects.fastInsert({ source, objects: objectsFrom(start, Math.min(BATCH, count - start)) });
        }
      }
    },
    { TIDEMARK_ADMIN_PASSWORD: PASSWORD },
  );
  const browser = await launchChromium();
  try {
    const rounds: Round[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      // A new page each time, so that nothing is remembered.
      const page = await browser.newPage();
      rounds.push(await measureRound(page, fixture.url));
      await page.context().close();
    }
    return rowsOf(rounds);
  } finally {
    await browser.close();
    await fixture.close();
  }
}

interface Round {
  readonly fewMs: number;
  readonly manyMs: number;
  readonly fewBytes: number;
  readonly manyBytes: number;
}

async function measureRound(page: Page, url: string): Promise<Round> {
  await page.goto(`${url}/console/data?source=None`);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'No objects yet' }).waitFor();
  await firstRowsMs(page, 'First');
  const fewMs = await firstRowsMs(page, 'Few');
  const fewBytes = await heapBytes(page);
  const manyMs = await firstRowsMs(page, 'Many');
  const grid = page.getByRole('grid', { name: 'Objects' });
  await grid.focus();
  for (let pages = 0; pages < SCROLLED_PAGES; pages++) {
    const reached = await grid.getAttribute('aria-rowcount');
    await page.keyboard.press('End');
    await page.locator(`[role="grid"]:not([aria-rowcount="${reached}"])`).waitFor();
  }
  return { fewMs, manyMs, fewBytes, manyBytes: await heapBytes(page) };
}

/** Chooses a source and returns the milliseconds until its first rows are painted. */
async function firstRowsMs(page: Page, source: keyof typeof SOURCES): Promise<number> {
  await page.getByLabel('Source', { exact: true }).selectOption('None');
  await page.getByRole('heading', { name: 'No objects yet' }).waitFor();
  return page.evaluate<number>(`new Promise((resolve) => {
    const field = [...document.querySelectorAll('select')].find((one) => one.labels[0]?.textContent === 'Source');
    const startMs = performance.now();
    const look = () => {
      const cell = document.querySelector('[role="gridcell"]');
      if (cell === null || cell.textContent === '…') return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - startMs)));
    };
    const observer = new MutationObserver(look);
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value').set.call(field, '${source}');
    field.dispatchEvent(new Event('change', { bubbles: true }));
  })`);
}

/** What the scripts of the page hold after the garbage was collected. */
async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

function rowsOf(rounds: readonly Round[]): readonly Row[] {
  const middle = (of: (round: Round) => number) => median(rounds.map(of));
  const [fewMs, manyMs] = [middle((round) => round.fewMs), middle((round) => round.manyMs)];
  const [fewBytes, manyBytes] = [middle((round) => round.fewBytes), middle((round) => round.manyBytes)];
  const megabytes = (bytes: number) => (bytes / 1_000_000).toFixed(1);
  return [
    {
      name: 'first rows of the console',
      measured: `${manyMs.toFixed(0)} ms with ${MANY}`,
      against: `${FIRST_ROWS_MS_MAX} ms allowed`,
      ratio: manyMs / FIRST_ROWS_MS_MAX,
      bound: { atMost: 1 },
    },
    {
      name: 'first rows of the console by the number of objects',
      measured: `${manyMs.toFixed(0)} ms with ${MANY}`,
      against: `${fewMs.toFixed(0)} ms with ${FEW}`,
      ratio: manyMs / fewMs,
      bound: { atMost: 1.5 },
    },
    {
      name: 'memory of the console',
      measured: `${megabytes(manyBytes)} MB with ${MANY} after ${SCROLLED_PAGES} pages`,
      against: `${megabytes(fewBytes)} MB with ${FEW}`,
      ratio: manyBytes / fewBytes,
      bound: { atMost: 2 },
    },
  ];
}
