import { readFile } from 'node:fs/promises';
import { makeUser, type Page, useBrowser as startBrowser, USER_PASSWORD } from '@tidemark/testing';
import { type BuiltApp, startBuiltApp } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

let app: BuiltApp;
const browser = startBrowser();

/** The app of the page about React. */
beforeAll(async () => {
  const guide = await readFile(new URL('../../../docs/sdk/react.md', import.meta.url), 'utf8');
  const [, sample = ''] = /^```tsx app\n(.*?)^```$/ms.exec(guide) ?? [];
  const code = (url: string) => sample.replace('https://sync.example.com', url);
  app = await startBuiltApp({ folder: 'react', code, body: '<div id="root"></div>' });
  await app.admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
});

afterAll(() => app.close());

async function openApp(
  login: string,
  orders: Record<string, { customer: string; total: number }>,
  expectedErrors: readonly RegExp[] = [],
): Promise<Page> {
  await makeUser(app.server, login);
  await app.admin.post('/app/v1/Order/push_objects', { user_id: login, objects: orders });
  // A request may be under way when the network goes.
  const page = await browser.openPage(app.url, {
    expectedErrors: [/ERR_INTERNET_DISCONNECTED/, ...expectedErrors],
  });
  await page.getByLabel('Login').fill(login);
  await page.getByLabel('Password').fill(USER_PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('listitem').first().waitFor();
  return page;
}

const rows = async (page: Page) => (await page.getByRole('listitem').allTextContents()).map((text) => text.trim());

it('[REACT-1] the app of the guide shows queries that follow the server, and works without a network', async () => {
  const page = await openApp('ada', { 1: { customer: 'Ann', total: 10 }, 2: { customer: 'Ben', total: 70 } });
  expect(await rows(page)).toEqual(['Ben 70', 'Ann 10']);
  await app.admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects: { 1: { total: 90 } } });
  await page.getByText('Ann 90').waitFor();
  expect(await rows(page)).toEqual(['Ann 90', 'Ben 70']);
  await page.context().setOffline(true);
  await page.getByText(/^offline/).waitFor();
  await page.getByRole('button', { name: 'Add' }).click();
  await page.getByText('New 100 (not sent)').waitFor();
  await page.getByText(/1 to send, 0 refused/).waitFor();
  await page.getByRole('button', { name: 'From 50' }).click();
  expect(await rows(page)).toEqual(['New 100 (not sent)', 'Ann 90', 'Ben 70']);
  await page.context().setOffline(false);
  await page.getByText(/0 to send, 0 refused/).waitFor();
  await page.getByText('New 100', { exact: true }).waitFor();
  await app.admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects: { 1: { total: 1 } } });
  await page.getByText('Ann').waitFor({ state: 'detached' });
});

it('[SDK-27] an app that Vite built shows its data while the file of the network part is missing, and syncs when the page is loaded again', async () => {
  const page = await openApp('eva', { 1: { customer: 'Ann', total: 10 } }, [/network\.js/]);
  await page.context().route(/\/network\.js/, (route) => route.abort());
  await page.reload();
  await page.getByText('Ann 10').waitFor();
  await page.getByRole('button', { name: 'Add' }).click();
  await page.getByText(/1 to send/).waitFor();
  await page.context().unroute(/\/network\.js/);
  await page.reload();
  await page.getByText(/0 to send, 0 refused/).waitFor();
});

it('[REACT-3] a controlled input keeps every character and its caret while somebody types into its middle', async () => {
  const page = await openApp('cem', { 1: { customer: 'Ann', total: 10 } });
  await page.getByText('Ann 10').click();
  const input = page.getByLabel('Customer');
  await input.focus();
  await input.evaluate((element) =>
    (element as unknown as { setSelectionRange(from: number, to: number): void }).setSelectionRange(1, 1),
  );
  await page.keyboard.type('bcdefghijklmnopqrst');
  expect(await input.inputValue()).toBe('Abcdefghijklmnopqrstnn');
  expect(await input.evaluate((element) => (element as unknown as { selectionStart: number }).selectionStart)).toBe(20);
  await page.getByText('Abcdefghijklmnopqrstnn 10').waitFor();
});

it('[REACT-1] a failed mutation shows its error, and the data of the device is there after a reload', async () => {
  const page = await openApp('bob', { 1: { customer: 'Ann', total: 10 } });
  await page.reload();
  await page.getByText('Ann 10').waitFor();
  const stranger = await browser.openPage(app.url, { expectedErrors: [/status of 401/] });
  await stranger.getByLabel('Login').fill('nobody');
  await stranger.getByRole('button', { name: 'Sign in' }).click();
  await stranger.getByRole('alert').waitFor();
});
