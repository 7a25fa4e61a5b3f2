import { useBrowser } from '@tidemark/testing';
import {
  callsTo,
  HOSTILE,
  PATIENCE,
  screensOf,
  signIn,
  startTestServer,
  type TestServer,
} from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const PHONE = { viewport: { width: 390, height: 844 } };

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server.close());

const { post, newDevice } = callsTo(() => server);

/** Names the cells of the page that cannot be scrolled into view, or whose text is cut off. */
const OUT_OF_REACH = `(() => {
  const isReachable = (cell) => {
    const box = cell.getBoundingClientRect();
    if (box.width === 0) return false;
    if (box.left >= 0 && box.right <= innerWidth) return true;
    const frame = cell.closest('[tabindex="0"][aria-label]');
    if (frame === null || !['auto', 'scroll'].includes(getComputedStyle(frame).overflowX)) return false;
    const { left, right } = frame.getBoundingClientRect();
    return left >= 0 && right <= innerWidth && box.right - left + frame.scrollLeft <= frame.scrollWidth + 1;
  };
  const cells = [...document.querySelectorAll('td, [role="gridcell"]')].filter((cell) => !isReachable(cell));
  const cut = [...document.querySelectorAll('td .name')].filter((name) => name.scrollWidth > name.clientWidth);
  const isTooWide = document.documentElement.scrollWidth > innerWidth;
  const widest = [...document.querySelectorAll('main *')].findLast(
    (e) => e.getBoundingClientRect().left + e.scrollWidth > innerWidth && getComputedStyle(e).overflowX === 'visible',
  );
  return [
    ...cells.map((cell) => 'out of reach: ' + cell.textContent),
    ...cut.map((name) => 'cut off: ' + name.textContent),
    ...(isTooWide ? ['the screen is too wide: ' + widest?.outerHTML] : []),
  ];
})()`;

describe('in a browser', () => {
  const browser = useBrowser();

  it('[CONSOLE-40] at phone width every cell of every table can be reached, and no screen is wider than the phone', async () => {
    const name = `narrow-${'n'.repeat(60)}`;
    const attributes = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`attribute${index}`, HOSTILE]));
    await post('/rc/v1/sources', { name, partition_type: 'app' });
    await post(`/app/v1/${name}/push_objects`, { objects: { 1: attributes } });
    const device = await newDevice(name, name);
    await post(`/rc/v1/users/${name}/groups`, { groups: [name] });
    await post('/rc/v1/tokens', { name: HOSTILE, scopes: ['read'] });
    await post('/rc/v1/users/ping', { user_id: [name], message: 'Hello' });
    const page = await browser.openPage(`${server.url}/console/`, PHONE);
    await signIn(page);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const problems: string[] = [];
    for (const path of screensOf(name, device)) {
      await page.goto(`${server.url}/console/${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByLabel('Loading').count(), PATIENCE).toBe(0);
      problems.push(...(await page.evaluate<string[]>(OUT_OF_REACH)).map((problem) => `${path}: ${problem}`));
    }
    expect(problems).toEqual([]);
    await page.goto(`${server.url}/console/users`);
    await page.getByRole('table', { name: 'Users' }).getByRole('link', { name }).waitFor();
    await page.goto(`${server.url}/console/data?source=${name}`);
    const grid = page.getByRole('grid', { name: 'Objects' });
    await grid.getByText(HOSTILE).first().waitFor();
    await grid.focus();
    const isAtEnd =
      '(({ scrollLeft, clientWidth, scrollWidth }) => scrollLeft + clientWidth >= scrollWidth - 1)(document.activeElement)';
    await expect
      .poll(async () => {
        await page.keyboard.press('ArrowRight');
        return page.evaluate<boolean>(isAtEnd);
      }, PATIENCE)
      .toBe(true);
  });
});
