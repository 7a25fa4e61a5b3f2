import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Caller, makeUser, type Page, useBrowser as startBrowser, USER_PASSWORD } from '@tidemark/testing';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { build } from 'vite';
import { afterAll, beforeAll, expect, it } from 'vitest';

const PACKAGES = new URL('../../', import.meta.url);
const PAGE =
  '<!doctype html><meta charset="utf-8"><title>App</title><div id="root"></div><script type="module" src="/app.js"></script>';

let app: Server;
let server: TestServer;
let admin: Caller;
let appUrl: string;
let script: Promise<string>;
const browser = startBrowser();

/** Builds the app of the page about React, in React's development mode, which checks the most. */
async function buildApp(url: string): Promise<string> {
  const guide = await readFile(new URL('../docs/sdk/react.md', PACKAGES), 'utf8');
  const [, sample = ''] = /^```tsx app\n(.*?)^```$/ms.exec(guide) ?? [];
  const source = (path: string) => fileURLToPath(new URL(path, PACKAGES));
  const result = await build({
    root: source('react'),
    configFile: false,
    logLevel: 'warn',
    mode: 'development',
    resolve: {
      alias: [
        { find: '@tidemark/client/indexeddb-store', replacement: source('client/src/stores/indexeddb-store.ts') },
        { find: /^@tidemark\/(client|react|protocol)$/, replacement: source('$1/src/index.ts') },
      ],
    },
    plugins: [
      {
        name: 'sample',
        resolveId: (id) => (id === 'app.tsx' ? `${source('react/src/')}app.tsx` : undefined),
        load: (id) => (id.endsWith('/app.tsx') ? sample.replace('https://sync.example.com', url) : undefined),
      },
    ],
    define: { 'process.env.NODE_ENV': '"development"' },
    // One script: the part for tabs would be a file of its own.
    build: { write: false, minify: false, rolldownOptions: { input: 'app.tsx', output: { codeSplitting: false } } },
  });
  const [{ output }] = (Array.isArray(result) ? result : [result]) as [{ output: readonly { code?: string }[] }];
  return output[0]?.code ?? '';
}

beforeAll(async () => {
  app = createServer(async ({ url = '' }, response) => {
    const isScript = url === '/app.js';
    const type = isScript ? 'text/javascript' : url === '/' ? 'text/html' : 'image/x-icon';
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(isScript ? await script : PAGE);
  });
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
  appUrl = `http://localhost:${(app.address() as AddressInfo).port}`;
  const { devices } = testConfig('');
  server = await startTestServer({ devices: { ...devices, origins: [appUrl] } });
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
  script = buildApp(server.url);
});

afterAll(async () => {
  admin.close();
  await server.close();
  app.closeAllConnections();
  await new Promise((resolve) => app.close(resolve));
});

async function openApp(login: string, orders: Record<string, { customer: string; total: number }>): Promise<Page> {
  await makeUser(server, login);
  await admin.post('/app/v1/Order/push_objects', { user_id: login, objects: orders });
  // A request may be under way when the network goes.
  const page = await browser.openPage(appUrl, { expectedErrors: [/ERR_INTERNET_DISCONNECTED/] });
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
  await admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects: { 1: { total: 90 } } });
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
  await admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects: { 1: { total: 1 } } });
  await page.getByText('Ann').waitFor({ state: 'detached' });
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
  const stranger = await browser.openPage(appUrl, { expectedErrors: [/status of 401/] });
  await stranger.getByLabel('Login').fill('nobody');
  await stranger.getByRole('button', { name: 'Sign in' }).click();
  await stranger.getByRole('alert').waitFor();
});
