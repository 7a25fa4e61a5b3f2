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
  readonly from?: number;
}

/** Its text is part of the script in the page, so it uses nothing from outside. */
function Orders({ create, hooks, useRows, from = 0 }: OrdersProps): ReactElement {
  const rows = hooks[useRows]('Order', { where: { total: { gte: from } }, orderBy: 'total' });
  const { isOnline } = hooks.useSyncStatus();
  const count = hooks.useCount('Order');
  const items = rows.map(({ id, attributes }) => create('li', { key: id }, String(attributes.total)));
  return create('section', null, `${isOnline ? 'online' : 'offline'}, ${count} orders`, create('ul', null, items));
}

/** An input whose value is an attribute of the order `1`. */
function Note({ create, hooks }: Pick<OrdersProps, 'create' | 'hooks'>): ReactElement {
  const orders = hooks.useSource<{ note: string }>('Order');
  const note = hooks.useObject(orders, '1')?.attributes.note ?? '';
  const onChange = (event: { readonly target: { readonly value: string } }) =>
    void orders.update('1', { note: event.target.value });
  return create('input', { 'aria-label': 'Note', value: note, onChange });
}

const APP = `
import { memoryStore, openDevice } from '@tidemark/client';
import * as hooks from '@tidemark/react';
import { createElement, StrictMode, Suspense } from 'react';
import { flushSync } from 'react-dom';
import { createRoot, hydrateRoot } from 'react-dom/client';
const Orders = ${Orders.toString()};
const Note = ${Note.toString()};
const ordersBy = (useRows, from) => createElement(Orders, { create: createElement, hooks, useRows, from });
const { url, login, password } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const device = await openDevice({ url });
const element = document.getElementById('root');
const pageWith = (child, shown = device) =>
  createElement(StrictMode, null, createElement(hooks.TidemarkProvider, { device: shown }, child));
const suspending = (child) => createElement(Suspense, { fallback: 'waiting' }, child);
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
// Shows what a device shows that has loaded only its last results, the cheapest order, until letThrough() is called.
window.restart = async (from) => {
  const kept = { ...memoryStore(), close: async () => undefined };
  const first = await openDevice({ url, store: kept, start: 'last_results' });
  await first.signIn({ login, password });
  await first.sync();
  first.source('Order').query({ orderBy: 'total', limit: 1 }).subscribe(() => undefined);
  await first.close();
  const gate = new Promise((resolve) => { window.letThrough = resolve; });
  const load = async (onFirst) => {
    const rows = await kept.load();
    onFirst(rows.filter(({ table }) => table !== 'objects'));
    await gate;
    return rows;
  };
  window.device = await openDevice({ url, store: { ...kept, load }, start: 'last_results' });
  element.textContent = '';
  const children = [suspending(ordersBy('useSuspenseQuery', from)), createElement(Note, { create: createElement, hooks })];
  flushSync(() => createRoot(element).render(pageWith(createElement('main', null, ...children), window.device)));
  return [window.device.status.getSnapshot().isLoading, element.textContent];
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
    objects: { 1: { total: 10, note: 'ae' }, 2: { total: 20 } },
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

it('[REACT-5] useSuspenseQuery shows the last results while other objects are loaded, and then everything', async () => {
  const page = await openApp('dan');
  const [isLoading, text] = (await page.evaluate('restart()')) as [boolean, string];
  expect([isLoading, text.replace(/^(online|offline)/, '')]).toEqual([true, ', 1 orders10']);
  await page.evaluate('letThrough()');
  await page.getByText('2 orders').waitFor();
  expect(await page.getByRole('listitem').allTextContents()).toEqual(['10', '20']);
});

it('[REACT-5] useSuspenseQuery without last results shows the fallback until all objects are loaded', async () => {
  const page = await openApp('eli');
  expect(await page.evaluate('restart(15)')).toEqual([true, 'waiting']);
  await page.evaluate('letThrough()');
  await page.getByText('2 orders').waitFor();
  expect(await page.getByRole('listitem').allTextContents()).toEqual(['20']);
});

it('[REACT-3] a controlled input keeps every character and its caret while other objects are loaded', async () => {
  const page = await openApp('fil');
  await page.evaluate('restart()');
  const input = page.getByLabel('Note');
  await input.focus();
  await input.evaluate((element) =>
    (element as unknown as { setSelectionRange(from: number, to: number): void }).setSelectionRange(1, 1),
  );
  const state = `[device.status.getSnapshot().isLoading, ...(({ value, selectionStart }) => [value, selectionStart])(document.activeElement)]`;
  await page.keyboard.type('bc');
  expect(await page.evaluate(state)).toEqual([true, 'abce', 3]);
  await page.evaluate('letThrough()');
  await page.keyboard.type('d');
  await page.getByText('2 orders').waitFor();
  expect(await page.evaluate(state)).toEqual([false, 'abcde', 4]);
  await page.evaluate('device.sync()');
  const stored = await app.admin.get('/rc/v1/users/fil/sources/Order/docs/md');
  expect(stored.body).toMatchObject({ 1: { note: 'abcde' } });
});

it('[REACT-6] in StrictMode, which mounts everything twice, no subscription is left behind', async () => {
  const page = await openApp('cem');
  await page.evaluate('hydrate()');
  await page.getByText('online, 2 orders').waitFor();
  const isLive = `device.source('Order').query({ where: { total: { gte: 0 } }, orderBy: 'total' }).isLive`;
  expect(await page.evaluate(isLive)).toBe(true);
  await page.evaluate('root.unmount()');
  expect(await page.evaluate(isLive)).toBe(false);
});
