import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Caller, makeUser, type Page, useBrowser as startBrowser, USER_PASSWORD } from '@tidemark/testing';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { createElement, type ReactElement, StrictMode } from 'react';
import { renderToString } from 'react-dom/server';
import { build } from 'vite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as tidemark from './index.ts';

const PACKAGES = new URL('../../', import.meta.url);

interface OrdersProps {
  readonly create: typeof createElement;
  readonly hooks: typeof tidemark;
  readonly useRows: 'useQuery' | 'useSuspenseQuery';
}

/** Its text is part of the script in the page, so it uses nothing from outside. */
function Orders({ create, hooks, useRows }: OrdersProps): ReactElement {
  const rows = hooks[useRows]('Order', { orderBy: 'total' });
  const { isOnline } = hooks.useSyncStatus();
  const count = hooks.useCount('Order');
  const items = rows.map(({ id, attributes }) => create('li', { key: id }, String(attributes.total)));
  return create('section', null, `${isOnline ? 'online' : 'offline'}, ${count} orders`, create('ul', null, items));
}

const APP = `
import { openDevice } from '@tidemark/client';
import * as hooks from '@tidemark/react';
import { createElement, StrictMode, Suspense } from 'react';
import { flushSync } from 'react-dom';
import { createRoot, hydrateRoot } from 'react-dom/client';
const Orders = ${Orders.toString()};
const ordersBy = (useRows) => createElement(Orders, { create: createElement, hooks, useRows });
const { url, login, password } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const device = await openDevice({ url });
const element = document.getElementById('root');
const pageWith = (child) => createElement(StrictMode, null, createElement(hooks.TidemarkProvider, { device }, child));
window.device = device;
window.hydrate = async () => {
  await device.signIn({ login, password });
  await device.sync();
  const onRecoverableError = (error) => console.error('hydration:', error);
  window.root = hydrateRoot(element, pageWith(ordersBy('useQuery')), { onRecoverableError });
};
window.suspend = async () => {
  element.textContent = '';
  await device.signIn({ login, password });
  window.root = createRoot(element);
  const orders = ordersBy('useSuspenseQuery');
  flushSync(() => window.root.render(pageWith(createElement(Suspense, { fallback: 'first sync' }, orders))));
  return element.textContent;
};
document.body.setAttribute('data-ready', '');
`;

let app: Server;
let server: TestServer;
let admin: Caller;
let appUrl: string;
let script: Promise<string>;
const browser = startBrowser();

/** React's development mode, which reports what does not match. */
async function buildApp(): Promise<string> {
  const source = (path: string) => fileURLToPath(new URL(path, PACKAGES));
  const result = await build({
    root: source('react'),
    configFile: false,
    logLevel: 'warn',
    mode: 'development',
    resolve: { alias: [{ find: /^@tidemark\/(client|react|protocol)$/, replacement: source('$1/src/index.ts') }] },
    plugins: [
      {
        name: 'app',
        resolveId: (id) => (id === 'app.js' ? `${source('react/src/')}app.js` : undefined),
        load: (id) => (id.endsWith('/src/app.js') ? APP : undefined),
      },
    ],
    define: { 'process.env.NODE_ENV': '"development"' },
    build: { write: false, minify: false, rolldownOptions: { input: 'app.js', output: { codeSplitting: false } } },
  });
  const [{ output }] = (Array.isArray(result) ? result : [result]) as [{ output: readonly { code?: string }[] }];
  return output[0]?.code ?? '';
}

/** The page as a server renders it: without a device. */
function html(): string {
  const orders = createElement(Orders, { create: createElement, hooks: tidemark, useRows: 'useQuery' });
  const provider = createElement(tidemark.TidemarkProvider, { device: null }, orders);
  const rendered = renderToString(createElement(StrictMode, null, provider));
  return `<!doctype html><meta charset="utf-8"><title>App</title><div id="root">${rendered}</div><script type="module" src="/app.js"></script>`;
}

beforeAll(async () => {
  app = createServer(async ({ url = '' }, response) => {
    const isScript = url === '/app.js';
    const type = isScript ? 'text/javascript' : url === '/' ? 'text/html' : 'image/x-icon';
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(isScript ? await script : html());
  });
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
  appUrl = `http://localhost:${(app.address() as AddressInfo).port}`;
  const { devices } = testConfig('');
  server = await startTestServer({ devices: { ...devices, origins: [appUrl] } });
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
  script = buildApp();
});

afterAll(async () => {
  admin.close();
  await server.close();
  app.closeAllConnections();
  await new Promise((resolve) => app.close(resolve));
});

async function openApp(login: string): Promise<Page> {
  await makeUser(server, login);
  await admin.post('/app/v1/Order/push_objects', { user_id: login, objects: { 1: { total: 10 }, 2: { total: 20 } } });
  const session = encodeURIComponent(JSON.stringify({ url: server.url, login, password: USER_PASSWORD }));
  const page = await browser.openPage(`${appUrl}/#${session}`);
  await page.locator('body[data-ready]').waitFor();
  return page;
}

it('[REACT-4] a page that a server rendered is hydrated without a mismatch, and then shows the data of the device', async () => {
  const page = await openApp('ada');
  expect(await page.locator('#root').textContent()).toBe('offline, 0 orders');
  await page.evaluate('hydrate()');
  await page.getByText('online, 2 orders').waitFor();
  expect(await page.getByRole('listitem').allTextContents()).toEqual(['10', '20']);
});

it('[REACT-5] useSuspenseQuery shows the fallback until the first sync is over', async () => {
  const page = await openApp('bob');
  expect(await page.evaluate('suspend()')).toBe('first sync');
  await page.getByText('online, 2 orders').waitFor();
  expect(await page.getByRole('listitem').allTextContents()).toEqual(['10', '20']);
});

it('[REACT-6] in StrictMode, which mounts everything twice, no subscription is left behind', async () => {
  const page = await openApp('cem');
  await page.evaluate('hydrate()');
  await page.getByText('online, 2 orders').waitFor();
  const isLive = `device.source('Order').query({ orderBy: 'total' }).isLive`;
  expect(await page.evaluate(isLive)).toBe(true);
  await page.evaluate('root.unmount()');
  expect(await page.evaluate(isLive)).toBe(false);
});
