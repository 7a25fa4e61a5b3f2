import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { makeUser, type Page, type PageOptions, USER_PASSWORD, useBrowser } from '@tidemark/testing';
import { type BuiltApp, startBuiltApp } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const GUIDE = readFileSync(new URL('../../../docs/guides/devtools.md', import.meta.url), 'utf8');
const [, SAMPLE = ''] = /```ts\n([\s\S]*?)```/.exec(GUIDE) ?? [];
/** An app with the sample of the guide, whose device the test uses through the window. */
const APP = `
import { openDevice } from '@tidemark/client';
const device = await openDevice({ url: location.hash.slice(1) });
${SAMPLE}
Object.assign(window, { device, unmount });
document.body.setAttribute('data-ready', '');
`;

let app: BuiltApp;
const browser = useBrowser();

/** Nothing inline, and no HTML from scripts. */
const policy = (serverUrl: string) =>
  `default-src 'none'; script-src 'self'; img-src 'self' data:; connect-src ${serverUrl}; require-trusted-types-for 'script'`;

beforeAll(async () => {
  app = await startBuiltApp({ folder: 'devtools', code: () => APP, body: '<main><h1>App</h1></main>', policy });
  await app.admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user', conflicts: 'detect' });
});

afterAll(() => app.close());

async function openApp(login: string, options: PageOptions = {}): Promise<Page> {
  await makeUser(app.server, login);
  await app.admin.post('/app/v1/Order/push_objects', {
    user_id: login,
    objects: { 1: { total: 10 }, 2: { total: 20 } },
  });
  const page = await browser.openPage(`${app.url}/#${app.server.url}`, options);
  await page.locator('body[data-ready]').waitFor();
  await page.evaluate(`device.signIn({ login: '${login}', password: '${USER_PASSWORD}' }).then(() => device.sync())`);
  return page;
}

const panelOf = (page: Page) => page.getByRole('dialog', { name: 'Tidemark' });
const rowOf = (page: Page, table: string, text: string) =>
  page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text });

it('[DEVTOOLS-1] the panel shows status, sources and calls, and is opened and closed by the keyboard', async () => {
  const page = await openApp('ada');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await panelOf(page).getByText('ada', { exact: true }).waitFor();
  expect(await rowOf(page, 'Sources', 'Order').getByRole('cell').allTextContents()).toEqual([
    'Order',
    '2',
    'changes',
    expect.stringMatching(/\d/),
    '0',
    '',
  ]);
  await rowOf(page, 'Last calls to the server', 'POST /sync/v1/pull').first().waitFor();
  await page.getByRole('button', { name: 'Sync now' }).click();
  await page.getByText('The device is in step with the server.').waitFor();
  await page.keyboard.press('Escape');
  await panelOf(page).waitFor({ state: 'hidden' });
  await page.keyboard.press('Enter');
  await panelOf(page).waitFor();
});

it('[DEVTOOLS-2] the panel takes the device offline and online, and shows what waits to be sent', async () => {
  const page = await openApp('bob');
  await page.getByRole('button', { name: 'Tidemark' }).click();
  await page.getByRole('button', { name: 'Go offline' }).click();
  await panelOf(page).getByText('offline', { exact: true }).first().waitFor();
  await page.evaluate(`device.source('Order').update('1', { total: 11 })`);
  await rowOf(page, 'Waiting uploads', 'Order 1').getByText('waiting').waitFor();
  await page.evaluate(`device.files.add(new Uint8Array(7), { name: 'roof.jpg' })`);
  await rowOf(page, 'Waiting files', 'roof.jpg').getByText('local').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Tidemark · offline · 1 to send' }).click();
  await page.getByRole('button', { name: 'Go online' }).click();
  await page.getByText('Everything is sent.').waitFor();
  await page.getByText('The server has every file of this device.').waitFor();
});

it('[DEVTOOLS-2] a refused change is retried or dismissed, and the focus stays in the panel', async () => {
  const page = await openApp('cem');
  await page.getByRole('button', { name: 'Tidemark' }).click();
  for (const [action, message] of [
    ['Dismiss', 'The problem is dismissed.'],
    ['Retry', 'The change is made again.'],
  ] as const) {
    await page.getByRole('button', { name: 'Go offline' }).click();
    await page.evaluate(`device.source('Order').update('2', { total: Math.random() })`);
    await app.admin.post('/app/v1/Order/push_objects', { user_id: 'cem', objects: { 2: { total: Math.random() } } });
    await page.getByRole('button', { name: 'Go online' }).click();
    const row = rowOf(page, 'Refused changes', 'Order 2');
    await row.getByText('update, conflict').waitFor();
    // The object as the server has it comes with the pull after a conflict.
    await page.evaluate('device.sync()');
    await row.getByRole('button', { name: action }).focus();
    await page.keyboard.press('Enter');
    await page.getByText(message).waitFor();
    await page.getByText('The server has refused nothing.').waitFor();
    expect(await page.evaluate('document.activeElement.localName')).toBe('tidemark-devtools');
  }
});

it('[DEVTOOLS-2] starting over fetches everything again, and keeps the session and changes that wait', async () => {
  const page = await openApp('dan');
  await page.getByRole('button', { name: 'Tidemark' }).click();
  await page.getByRole('button', { name: 'Go offline' }).click();
  await page.evaluate(`device.source('Order').update('1', { total: 11 })`);
  await page.getByRole('button', { name: 'Start over' }).click();
  await page.getByText('The device fetches everything again.').waitFor();
  await rowOf(page, 'Sources', 'Order').filter({ hasText: 'everything' }).waitFor();
  expect(await page.evaluate(`device.source('Order').list().length`)).toBe(2);
  await rowOf(page, 'Waiting uploads', 'Order 1').waitFor();
  await page.getByRole('button', { name: 'Go online' }).click();
  await rowOf(page, 'Sources', 'Order').filter({ hasText: 'changes' }).waitFor();
  expect(await page.evaluate(`device.source('Order').get('1').attributes.total`)).toBe(11);
});

it('[DEVTOOLS-1] unmounting removes the panel from the page', async () => {
  const page = await openApp('eve');
  await page.getByRole('button', { name: 'Tidemark' }).click();
  await page.evaluate('unmount()');
  expect(await page.locator('tidemark-devtools').count()).toBe(0);
});

it.each(['light', 'dark'] as const)(
  '[DEVTOOLS-3] axe finds no violation in the %s panel, under a policy that allows nothing inline',
  async (colorScheme) => {
    const page = await openApp(`axe-${colorScheme}`, { colorScheme });
    await page.getByRole('button', { name: 'Tidemark' }).click();
    await page.getByRole('button', { name: 'Go offline' }).click();
    await page.evaluate(`device.source('Order').update('1', { total: 11 })`);
    await rowOf(page, 'Waiting uploads', 'Order 1').waitFor();
    await rowOf(page, 'Sources', 'Order').waitFor();
    await page.evaluate(AXE);
    const { violations } = (await page.evaluate('axe.run()')) as {
      readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
    };
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  },
);
