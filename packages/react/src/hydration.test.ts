import { makeUser, type Page, useBrowser as startBrowser, USER_PASSWORD } from '@tidemark/testing';
import { type BuiltApp, startBuiltApp } from '@tidemark/testing/server';
import { createElement, type ReactElement, StrictMode } from 'react';
import { renderToString } from 'react-dom/server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as tidemark from './index.ts';

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

let app: BuiltApp;
const browser = startBrowser();

/** The app as a server renders it: without a device. */
function html(): string {
  const orders = createElement(Orders, { create: createElement, hooks: tidemark, useRows: 'useQuery' });
  const provider = createElement(tidemark.TidemarkProvider, { device: null }, orders);
  return renderToString(createElement(StrictMode, null, provider));
}

beforeAll(async () => {
  app = await startBuiltApp({ folder: 'react', code: () => APP, body: `<div id="root">${html()}</div>` });
  await app.admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
});

afterAll(() => app.close());

async function openApp(login: string): Promise<Page> {
  await makeUser(app.server, login);
  await app.admin.post('/app/v1/Order/push_objects', {
    user_id: login,
    objects: { 1: { total: 10 }, 2: { total: 20 } },
  });
  const session = encodeURIComponent(JSON.stringify({ url: app.server.url, login, password: USER_PASSWORD }));
  const page = await browser.openPage(`${app.url}/#${session}`);
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
