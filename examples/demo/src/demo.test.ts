import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { TidemarkClient } from '@tidemark/backend';
import { itLong, type Page, useBrowser as startBrowser } from '@tidemark/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startDemoProcess } from './demo-process.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Chromium logs every request that a dead server does not answer; one that stops answers 503 until its last connection has ended. */
const DEAD_SERVER = [
  /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|status of 503/,
  // An object with a photo may arrive before the photo.
  /status of 404/,
];

let child: ChildProcess;
let url: string;
const browser = startBrowser();

let said: string;

beforeAll(async () => {
  const started = startDemoProcess('0');
  child = started.child;
  said = await started.said;
  [url = said] = /http:\S+/.exec(said) ?? [];
});

afterAll(async () => {
  if (child.kill('SIGTERM')) await once(child, 'exit');
});

const device = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const order = (page: Page, name: string, id: number) => device(page, name).locator(`[data-order="${id}"]`);
const notes = (page: Page, name: string, id: number) => order(page, name, id).getByLabel('Notes');
const network = (page: Page, name: string) => page.getByRole('switch', { name: `Network of ${name}` });
const inDatabase = (page: Page, id: number) => page.locator(`.backend tr[data-order="${id}"]`);
/** Resolves when the server has a change that the device has not acknowledged. */
const behind = (page: Page, name: string) => device(page, name).locator('.gauge:not([data-behind="0"])').waitFor();
const agreed = (page: Page) => page.getByText('All devices and the backend agree').waitFor();

/** The tests share the page with its three devices, because one takes seconds of CPU time to begin. */
async function openDemo(): Promise<Page> {
  const page = await browser.openSharedPage(url, { expectedErrors: DEAD_SERVER });
  await agreed(page);
  return page;
}

it('[DEMO-1] offline changes on two devices, a reload, a conflict and a killed server end with the same data everywhere', async () => {
  const page = await openDemo();

  // Two crews without a network work on.
  await network(page, 'Crew North').click();
  await network(page, 'Crew Harbour').click();
  await order(page, 'Crew North', 1).getByRole('button').first().click();
  await notes(page, 'Crew North', 1).fill('Seal replaced.');
  await order(page, 'Crew North', 1).getByRole('button', { name: 'In progress' }).click();
  await device(page, 'Crew Harbour').getByLabel('New work order of Crew Harbour').fill('Leak under the sink');
  await device(page, 'Crew Harbour').getByRole('button', { name: 'Add' }).click();
  const leak = device(page, 'Crew Harbour').getByRole('listitem').filter({ hasText: 'Leak under the sink' });
  await leak.getByLabel('Part', { exact: true }).selectOption('P-1808');
  await leak.getByRole('button', { name: 'Book' }).click();
  await leak.getByText('1 × Leak spray 400 ml').waitFor();

  // The dispatcher changes the same notes, and the backend has them.
  await order(page, 'Dispatch', 1).getByRole('button').first().click();
  await notes(page, 'Dispatch', 1).fill('Customer is in after 2 pm.');
  await inDatabase(page, 1).getByText('Customer is in after 2 pm.').waitFor();
  await behind(page, 'Crew North');
  expect(await notes(page, 'Crew North', 1).inputValue()).toBe('Seal replaced.');

  // After a reload the devices have what they had, and are still offline.
  await page.reload();
  await device(page, 'Crew North').getByText('Offline. Everything still works.').waitFor();
  expect(await network(page, 'Crew North').getAttribute('aria-checked')).toBe('false');
  await order(page, 'Crew North', 1).getByText('Seal replaced.').waitFor();
  await device(page, 'Crew Harbour').getByText('2 changes wait.').waitFor();

  // Back online, the crew learns of the conflict, and decides.
  await network(page, 'Crew North').click();
  const conflict = device(page, 'Crew North').getByRole('region', { name: 'Conflict' });
  await conflict.getByText('Customer is in after 2 pm.').waitFor();
  await conflict.getByRole('button', { name: 'Keep both' }).click();
  await inDatabase(page, 1).getByText('Customer is in after 2 pm. Seal replaced.').waitFor();

  // The server dies. Everybody works on, also the crew that has been offline all the time.
  await page.getByRole('button', { name: 'Kill the server' }).click();
  await page.getByText('Server is dead').waitFor();
  await order(page, 'Dispatch', 2).getByRole('button').first().click();
  await order(page, 'Dispatch', 2).getByRole('button', { name: 'Harbour' }).click();
  await order(page, 'Dispatch', 2).getByText('not sent').waitFor();
  await network(page, 'Crew Harbour').click();
  await page.reload();
  await order(page, 'Dispatch', 2).getByText('not sent').waitFor();

  await page.getByRole('button', { name: 'Restart the server' }).click();
  await page.getByText('Server is running').waitFor();
  await order(page, 'Crew Harbour', 2).waitFor();
  await inDatabase(page, 11).getByText('Leak under the sink').waitFor();
  await agreed(page);
  await expect.poll(() => page.getByText(/waits?\./).count()).toBe(0);
  await expect.poll(() => page.locator('.gauge[data-behind="0"]').count()).toBe(3);
  expect(await order(page, 'Crew North', 2).count()).toBe(0);
  expect(await order(page, 'Crew North', 1).textContent()).toContain('In progress');
  await order(page, 'Dispatch', 11).getByRole('button').first().click();
  await order(page, 'Dispatch', 11).getByText('1 × Leak spray 400 ml').waitFor();
  expect(await page.getByRole('region', { name: /Conflict|Refused/ }).count()).toBe(0);
});

it('[DEMO-7] the demo has the devtools of each device for whoever asks for them', async () => {
  const page = await browser.openSharedPage(`${url}/?devtools`, { expectedErrors: DEAD_SERVER });
  await page.getByRole('button', { name: /^Crew North/ }).click();
  const panel = page.getByRole('dialog', { name: 'Crew North' });
  await panel.getByText('crew-north', { exact: true }).waitFor();
  await panel.getByRole('cell', { name: 'WorkOrder', exact: true }).waitFor();
});

it('[DEMO-2] another web page cannot kill the server, whatever host name or origin it has', async () => {
  const { host, port } = new URL(url);
  const post = (path: string, headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, method: 'POST', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.once('error', reject).end('{}');
    });
  expect(await post('/demo/kill', { host, origin: 'https://elsewhere.example' })).toBe(403);
  expect(await post('/demo/kill', { host: `rebound.example:${port}`, origin: `http://rebound.example:${port}` })).toBe(
    403,
  );
  expect(await post('/demo/kill', { host, origin: 'null' })).toBe(403);
  expect(await post('/demo/kill', { host })).toBe(403);
  expect((await fetch(`${url}/demo/session`, { headers: { origin: 'https://elsewhere.example' } })).status).toBe(403);
  const page = await openDemo();
  await page.getByText('Server is running').waitFor();
});

itLong(
  '[DEMO-3] a ping is a toast on the device of the crew, and an offline crew is reported as not connected',
  async () => {
    const page = await openDemo();
    await order(page, 'Dispatch', 4).getByRole('button').first().click();
    await device(page, 'Crew Harbour').getByText('changes arrive live').waitFor();
    const ping = order(page, 'Dispatch', 4).getByRole('button', { name: 'Ping crew Harbour' });
    await ping.click();
    await device(page, 'Crew Harbour').getByRole('alert').getByText('Please look at “Cold room 3').waitFor();
    await order(page, 'Dispatch', 4).getByText('Sent over the open connection.').waitFor();
    expect(await device(page, 'Crew North').getByRole('alert').textContent()).toBe('');
    await network(page, 'Crew Harbour').click();
    await device(page, 'Crew Harbour').getByText('Offline.').waitFor();
    await expect
      .poll(async () => {
        await ping.click();
        return await order(page, 'Dispatch', 4).getByRole('status').textContent();
      })
      .toContain('not connected');
    await network(page, 'Crew Harbour').click();
    await agreed(page);
  },
);

itLong(
  '[DEMO-9] a photo that is added without a network shows at once, and arrives at the other devices and the server',
  async () => {
    const page = await openDemo();
    const photos = (name: string) => order(page, name, 1).getByRole('img', { name: 'Photo by Crew North' });
    const isDrawn = `[...document.querySelectorAll('.photos img')].map(({ naturalWidth }) => naturalWidth)`;
    await order(page, 'Crew North', 1).getByRole('button').first().click();
    await network(page, 'Crew North').click();
    await order(page, 'Crew North', 1).getByRole('button', { name: 'Use a sample picture' }).click();
    await photos('Crew North').waitFor();
    await order(page, 'Crew North', 1)
      .getByLabel('Add a photo')
      .setInputFiles({
        name: 'pump.gif',
        mimeType: 'image/gif',
        buffer: Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
      });
    await expect.poll(() => page.evaluate(isDrawn)).toEqual([960, 1]);
    const sections = order(page, 'Crew North', 1).getByRole('region', { name: 'Photos' });
    expect(await sections.getByText('not sent').count()).toBe(2);
    await page.getByText('Not sent yet: Crew North').waitFor();
    expect(await photos('Dispatch').count()).toBe(0);
    const step = page
      .getByRole('region', { name: 'Try this' })
      .getByRole('listitem')
      .filter({ hasText: 'Add a photo' });
    expect(await step.getAttribute('data-done')).toBe('true');
    await network(page, 'Crew North').click();
    // Dispatch has the same order open, and both devices show both pictures.
    await expect.poll(() => page.evaluate(isDrawn)).toEqual([960, 1, 960, 1]);
    await expect.poll(() => page.locator('.photos .chip').count()).toBe(0);
    await agreed(page);
    const [, address = '', password = ''] = /The console is at (\S+) \(log in as admin with (\S+)\)/.exec(said) ?? [];
    const admin = await TidemarkClient.logIn({ url: new URL(address).origin, login: 'admin', password });
    const { files } = await admin.files.list({ source: 'Photo' });
    expect(files.map(({ name, is_stored }) => [name, is_stored]).sort()).toEqual([
      ['pump.gif', true],
      ['sample.jpg', true],
    ]);
    await order(page, 'Crew North', 1).getByRole('button').first().click();
    await agreed(page);
  },
);

/** Returns the serious accessibility problems of the page, each with its elements. */
async function axe(page: Page, options: object): Promise<readonly (readonly [string, readonly string[]])[]> {
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as {
    readonly violations: readonly {
      readonly id: string;
      readonly impact: string;
      readonly nodes: readonly { readonly html: string }[];
    }[];
  };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => [id, nodes.map(({ html }) => html)] as const);
}

it('[DEMO-4] neither the light nor the dark page has a serious accessibility problem', async () => {
  const page = await openDemo();
  await page.emulateMedia({ colorScheme: 'light' });
  await page.getByRole('button', { name: 'Prepare a conflict' }).click();
  await behind(page, 'Crew North');
  await network(page, 'Crew North').click();
  await device(page, 'Crew North').getByRole('region', { name: 'Conflict' }).waitFor();
  await page.getByText('To be resolved: Crew North').waitFor();
  await page.evaluate(AXE);
  expect(await axe(page, {})).toEqual([]);
  const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
  const light = await background();
  await page.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(background).not.toBe(light);
  // Only the contrast depends on the colours.
  expect(await axe(page, { runOnly: ['color-contrast'] })).toEqual([]);
  await page.getByRole('button', { name: 'Take theirs' }).click();
  await agreed(page);
});

it('[DEMO-4] a phone shows one device at a time, without scrolling sideways', async () => {
  const page = await openDemo();
  const before = page.viewportSize();
  if (before !== null) onTestFinished(() => page.setViewportSize(before));
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await device(page, 'Dispatch').isVisible()).toBe(true);
  expect(await device(page, 'Crew North').isVisible()).toBe(false);
  await page.getByRole('navigation', { name: 'Devices' }).getByRole('button', { name: 'Crew North' }).click();
  expect(await device(page, 'Crew North').isVisible()).toBe(true);
  expect(await device(page, 'Dispatch').isVisible()).toBe(false);
  for (const selector of ['html', '.table']) {
    const [content, frame] = await page
      .locator(selector)
      .evaluate(({ scrollWidth, clientWidth }: { scrollWidth: number; clientWidth: number }) => [
        scrollWidth,
        clientWidth,
      ]);
    expect([selector, content]).toEqual([selector, frame]);
  }
});

it('[DEMO-8] the demo prints how to log in to the console, and its page opens the console beside it', async () => {
  const [, address = '', password = ''] = /The console is at (\S+) \(log in as admin with (\S+)\)/.exec(said) ?? [];
  const page = await openDemo();
  const link = page.getByRole('link', { name: 'the console' });
  expect([await link.getAttribute('href'), await link.getAttribute('target')]).toEqual([address, '_blank']);
  await page.getByText(password).waitFor();
  await expect(TidemarkClient.logIn({ url: new URL(address).origin, login: 'admin', password })).resolves.toBeDefined();
});

it('[DEMO-5] a port that is taken ends the demo with a hint', async () => {
  const { port } = new URL(url);
  const second = startDemoProcess(port);
  expect(await second.said).toContain(`port ${port} is taken; choose another one: DEMO_PORT=`);
  expect(second.child.exitCode).toBe(1);
});

itLong('[DEMO-6] an open page says that the demo has ended, and begins anew when it is started again', async () => {
  // This comes last, because it ends the demo of all tests. Starting one takes longer than most tests.
  const page = await openDemo();
  await network(page, 'Crew North').click();
  await order(page, 'Crew North', 3).getByRole('button').first().click();
  await notes(page, 'Crew North', 3).fill('Of another time.');
  child.kill('SIGTERM');
  await page.getByText('The demo has ended').waitFor();
  await order(page, 'Crew North', 3).getByText('not sent').waitFor();
  if (child.exitCode === null) await once(child, 'exit');
  const second = startDemoProcess(new URL(url).port);
  child = second.child;
  await second.said;
  await device(page, 'Crew North').getByText('Bearing, probably.').waitFor();
  await agreed(page);
});
