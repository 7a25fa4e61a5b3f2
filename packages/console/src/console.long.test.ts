import { openDevice } from '@tidemark/client';
import { type Page, useBrowser as startBrowser } from '@tidemark/testing';
import {
  callsTo,
  consoleOf,
  HOSTILE,
  heading,
  openScreen,
  PATIENCE,
  runShell,
  screensOf,
  signIn,
  startTestServer,
  type TestServer,
} from '@tidemark/testing/server';
import jsQR from 'jsqr';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';

const PHONE = { viewport: { width: 390, height: 844 } };

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server.close());

const browser = startBrowser();
const openConsole = consoleOf(browser, () => server);
const { post, newDevice } = callsTo(() => server);

it('[CONSOLE-18] [CONSOLE-90] [CONSOLE-91] a newcomer makes a sample, a source and a user, pushes by the shown curl, sees it arrive, learns why an object is missing, and pings', async () => {
  const fresh = await startTestServer();
  onTestFinished(() => fresh.close());
  const page = await browser.openPage(`${fresh.url}/`, { whole: true });
  await signIn(page);
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  // Whoever copies the command gets a user with this password.
  expect(await page.locator('pre', { hasText: '/rc/v1/users' }).textContent()).toContain('"password":"lovelace-1815"');
  const [sampleY = 0, curlY = 0] = await Promise.all(
    [page.getByRole('button', { name: 'Make a sample' }), page.locator('pre').first()].map(
      async (element) => (await element.boundingBox())?.y,
    ),
  );
  expect(sampleY).toBeLessThan(curlY);
  await page.getByText('This server is empty').waitFor();
  await page.getByRole('button', { name: 'Make a sample' }).click();
  const sample = page.getByRole('region', { name: 'Simulated device' });
  await sample.getByRole('list', { name: 'Objects of Example' }).getByText('Hello').waitFor();
  await page.getByRole('link', { name: /^Sources 1/ }).waitFor();
  expect(await page.getByText('This server is empty').count()).toBe(0);

  await page.getByRole('link', { name: 'Sources' }).first().click();
  await page.getByRole('button', { name: 'New source' }).click();
  await page.getByLabel('Name').fill('Order');
  await page.getByRole('button', { name: 'Create source' }).click();
  await heading(page, 'Order');
  const curl = (await page.locator('pre', { hasText: 'push_objects' }).textContent()) ?? '';
  await page.getByRole('link', { name: 'Tokens' }).click();
  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByLabel('Name').fill('backend');
  await page.getByRole('button', { name: 'Create token' }).click();
  const token = (await page.getByRole('dialog').getByRole('status').locator('pre').textContent()) ?? '';
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Users' }).click();
  await page.getByRole('button', { name: 'New user' }).click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Login' }).fill('ada');
  await page.getByRole('dialog').getByLabel('Password').first().fill('sea-urchin-4410');
  await page.getByRole('button', { name: 'Create user' }).click();
  await heading(page, 'ada');

  await page.getByRole('button', { name: 'Simulate a device' }).click();
  const device = page.getByRole('region', { name: 'Simulated device' });
  await device.getByText('live', { exact: true }).waitFor();
  await runShell(curl, token);
  await device.getByRole('list', { name: 'Objects of Order' }).getByText('The first Order').waitFor();
  const opened = page.context().waitForEvent('page');
  await device.getByRole('link').click({ modifiers: ['Control'] });
  const inspector = await opened;
  // A device acknowledges what it has received a few seconds later.
  await inspector
    .getByRole('table', { name: 'Sources of the device' })
    .getByRole('row', { name: /Order up to date/ })
    .waitFor(PATIENCE);

  await device.getByRole('button', { name: 'Go offline' }).click();
  await runShell(curl.replace('"1"', '"2"'), token);
  await inspector.getByLabel('Source', { exact: true }).selectOption('Order');
  await inspector.getByLabel('Object id').fill('2');
  await inspector.getByRole('button', { name: 'Explain' }).click();
  const verdict = inspector.getByRole('status').filter({ hasText: 'Device acknowledged' });
  await verdict.getByText(/^The device does not hold the current object "2" of "Order", .* at its next pull/).waitFor();
  await verdict.getByRole('button', { name: 'Ping' }).click();
  await inspector.getByRole('button', { name: 'Send ping' }).click();
  await inspector.getByText('To 0 devices. Skipped: 1 (not connected, without a push address).').waitFor();
  await inspector.getByRole('button', { name: 'Done' }).click();
  await device.getByRole('button', { name: 'Go online' }).click();
  await device.getByRole('list', { name: 'Objects of Order' }).getByText('2', { exact: true }).waitFor();
  await inspector.reload();
  await inspector.getByText('online', { exact: true }).waitFor();
  await inspector.getByRole('button', { name: 'Ping' }).first().click();
  await inspector.getByRole('button', { name: 'Send ping' }).click();
  await inspector.getByRole('link', { name: 'Results' }).click();
  await inspector
    .getByRole('table', { name: 'Results' })
    .getByRole('row', { name: / sent live / })
    .waitFor();
});

it('[CONSOLE-16] 100,000 objects are scrolled through page by page, and never downloaded as a whole', async () => {
  await post('/rc/v1/sources', { name: 'Sea', partition_type: 'app' });
  const objects = Object.fromEntries(Array.from({ length: 100_000 }, (_, id) => [`o${id}`, { n: id }]));
  await post('/app/v1/Sea/push_objects', { objects });
  const page = await openConsole('');
  const fetched: string[] = [];
  page.on('request', (request) => fetched.push(request.url()));
  await page.goto(`${server.url}/console/data?source=Sea`);
  const grid = page.getByRole('grid', { name: 'Objects' });
  await grid.getByText('o0', { exact: true }).waitFor();
  expect(fetched.filter((url) => url.includes('/objects?')).length).toBeLessThanOrEqual(2);
  expect(await grid.getByRole('row').count()).toBeLessThan(60);
  await grid.focus();
  for (let jumps = 0; jumps < 4; jumps++) {
    const reached = Number(await grid.getAttribute('aria-rowcount')) - 1;
    await page.keyboard.press('End');
    await grid.getByText(`o${reached - 1}`, { exact: true }).waitFor();
    await expect
      .poll(async () => Number(await grid.getAttribute('aria-rowcount')), PATIENCE)
      .toBeGreaterThan(reached + 1);
  }
  await page.getByLabel('Jump to id').fill('o99990');
  await page.getByRole('button', { name: 'Jump', exact: true }).click();
  await grid.getByText('o99999', { exact: true }).waitFor();
  expect(fetched.some((url) => url.endsWith('/docs/md'))).toBe(false);
});

it('[CONSOLE-30] [CONSOLE-92] an invite is shown once, with a QR code that a reader decodes and a device signs in with', async () => {
  const inviting = await startTestServer({ publicUrl: 'https://sync.example/base' });
  onTestFinished(() => inviting.close());
  const page = await browser.openPage(`${inviting.url}/console/users/admin`);
  await signIn(page);
  const dialog = page.getByRole('dialog');
  const link = dialog.locator('pre', { hasText: 'https://' });
  const read: string[] = [];
  // A QR code is read by cameras in both colour schemes only if it is dark on a light ground.
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.getByRole('button', { name: 'Invite a device' }).click();
    await dialog.getByLabel('Valid for').selectOption('seven days');
    expect(await link.count()).toBe(0);
    await dialog.getByRole('button', { name: 'Make invite' }).click();
    await dialog.getByText('The invite ends in 7 days. The QR code holds the link.').waitFor();
    const text = await readQrCode(page, 'QR code of the invite');
    expect(text).toMatch(/^https:\/\/sync\.example\/base\/invite#tmi_\w{22}$/);
    expect(text).toBe(await link.textContent());
    read.push(text);
    expect(await dialog.getByRole('button', { name: 'Make invite' }).count()).toBe(0);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
  }
  // A device that the console simulates leaves the invite valid.
  await page.getByRole('button', { name: 'Simulate a device' }).click();
  await dialog.getByRole('region', { name: 'Simulated device' }).waitFor();
  await page.keyboard.press('Escape');
  const device = await openDevice({ url: inviting.url });
  const [replaced = '', invite = ''] = read.map((text) => new URL(text).hash.slice(1));
  await expect(device.signIn({ invite: replaced })).rejects.toMatchObject({ code: 'invite_invalid' });
  await device.signIn({ invite });
  await page.reload();
  await page.getByRole('table', { name: 'Devices' }).getByRole('row').nth(1).waitFor();
  await device.close();
});

it('[CONSOLE-30] the QR code of an invite holds the code alone when there is no public_url', async () => {
  const page = await openConsole('users/admin');
  await page.getByRole('button', { name: 'Invite a device' }).click();
  await page.getByRole('button', { name: 'Make invite' }).click();
  await page.getByText(/set public_url in the configuration/).waitFor();
  const code = await readQrCode(page, 'QR code of the invite');
  expect(code).toBe(await page.getByRole('status').locator('pre').textContent());
  expect(await post('/sync/v1/login', { invite: code })).toMatchObject({ user_id: 'admin' });
});

/** Reads a QR code from the pixels of the page, as a camera would. */
async function readQrCode(page: Page, name: string): Promise<string> {
  const picture = await page.getByRole('img', { name }).screenshot();
  // The content security policy of the console does not let its own pages read pictures.
  const blank = await page.context().newPage();
  const { reds, width, height } = (await blank.evaluate(`(async () => {
    const file = await (await fetch('data:image/png;base64,${picture.toString('base64')}')).blob();
    const bitmap = await createImageBitmap(file);
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
    canvas.drawImage(bitmap, 0, 0);
    const { data, width, height } = canvas.getImageData(0, 0, bitmap.width, bitmap.height);
    return { reds: [...data].filter((_, at) => at % 4 === 0), width, height };
  })()`)) as { readonly reds: number[]; readonly width: number; readonly height: number };
  await blank.close();
  // The code is drawn in grey: the three colours of a pixel are equal.
  const data = new Uint8ClampedArray(reds.flatMap((red) => [red, red, red, 255]));
  return jsQR.default(data, width, height, { inversionAttempts: 'dontInvert' })?.data ?? 'unreadable';
}

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
  const texts = document.querySelectorAll('td .name, td .mantine-Button-label, td .mantine-Badge-label');
  const cut = [...texts].filter((text) => text.scrollWidth > text.clientWidth);
  const isTooWide = document.documentElement.scrollWidth > innerWidth;
  const widest = [...document.querySelectorAll('main *')].findLast(
    (e) => e.getBoundingClientRect().left + e.scrollWidth > innerWidth && getComputedStyle(e).overflowX === 'visible',
  );
  return [
    ...cells.map((cell) => 'out of reach: ' + cell.textContent),
    ...cut.map((text) => 'cut off: ' + text.textContent),
    ...(isTooWide ? ['the screen is too wide: ' + widest?.outerHTML] : []),
  ];
})()`;

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
    await openScreen(page, path);
    problems.push(...(await page.evaluate<string[]>(OUT_OF_REACH)).map((problem) => `${path}: ${problem}`));
  }
  expect(problems).toEqual([]);
  await page.goto(`${server.url}/console/users`);
  await page.getByRole('table', { name: 'Users' }).getByRole('link', { name }).first().waitFor();
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
