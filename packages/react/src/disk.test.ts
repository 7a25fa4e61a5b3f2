import { makeUser, useBrowser as startBrowser, USER_PASSWORD } from '@tidemark/testing';
import { type BuiltApp, startBuiltApp } from '@tidemark/testing/server';
import type { createElement, ReactElement } from 'react';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type * as tidemark from './index.ts';

interface PartsProps {
  readonly create: typeof createElement;
  readonly hooks: typeof tidemark;
}

/** Its text is part of the script in the page, so it uses nothing from outside. */
function Parts({ create, hooks }: PartsProps): ReactElement {
  const options = { where: { n: { gte: 0 } }, limit: 2 };
  const first = hooks.useQuery<{ n: number }>('Part', options);
  const isLoading = hooks.useIsLoading('Part', options);
  const none = hooks.useIsLoading('Part', { where: { n: -1 } });
  const one = hooks.useObject<{ n: number }>('Part', 'p9');
  const pages = hooks.usePages<{ n: number }>('Part', { size: 3, where: { n: { gte: 0 } } });
  const text = [
    `first ${first.map(({ id }) => id)}${isLoading ? ' loading' : ''}`,
    `none${none ? ' loading' : ''}`,
    `one ${one?.attributes.n}`,
    `pages ${pages.rows.map(({ id }) => id)}${pages.hasMore ? ' …' : ''}${pages.isLoading ? ' loading' : ''}`,
  ];
  return create('section', null, text.join('; '), create('button', { onClick: pages.more }, 'More'));
}

/** Its text is part of the script in the page as well. */
function Suspending({ create, hooks }: PartsProps): ReactElement {
  const rows = hooks.useSuspenseQuery<{ n: number }>('Part', { where: { n: { lte: 1 } } });
  return create('p', null, `suspended ${rows.map(({ id }) => id)}`);
}

/** A store with sources on the disk whose scans wait until they are let through. It makes no indexes. */
const APP = `
import { memoryStore, openDevice } from '@tidemark/client';
import * as hooks from '@tidemark/react';
import { createElement, StrictMode, Suspense } from 'react';
import { createRoot } from 'react-dom/client';
const Parts = ${Parts.toString()};
const Suspending = ${Suspending.toString()};
const kept = memoryStore();
let gate = new Promise((resolve) => { window.letThrough = resolve; });
const objectsOf = async (first) => (await kept.load())
  .filter(({ table, key }) => table === 'objects' && key[0] === first)
  .map(({ key, value }) => [key[1], value])
  .sort(([left], [right]) => (left < right ? -1 : 1));
const store = {
  load: () => kept.load(),
  close: async () => undefined,
  commit: async (writes, { disk } = {}) => {
    const rows = disk === undefined ? [] : await kept.load();
    const dropped = rows.filter(({ table, key }) => table === 'objects' && disk.drops.includes(key[0]));
    await kept.commit([...dropped.map(({ table, key }) => ({ table, key })), ...writes]);
  },
  disk: {
    load: async (choose) => {
      const rows = await kept.load();
      const without = choose(rows.filter(({ table }) => table !== 'objects'));
      return rows.filter(({ table, key }) => table !== 'objects' || !without.includes(key[0]));
    },
    read: async (keys) => {
      const rows = new Map((await kept.load()).map(({ table, key, value }) => [JSON.stringify([table, ...key]), value]));
      return keys.map((key) => rows.get(JSON.stringify(['objects', ...key])));
    },
    scan: async ({ first, after, skip, limit }) => {
      await gate;
      const objects = await objectsOf(first);
      return objects.filter(([id]) => after === null || id > after.id).slice(skip, skip + limit);
    },
    count: async ({ first }, max) => Math.min(max, (await objectsOf(first)).length),
  },
};
const { url, login, password } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const device = await openDevice({ url, store });
window.device = device;
device.source('Part', { keep: 'disk' });
await device.signIn({ login, password });
await device.sync();
const props = { create: createElement, hooks };
const suspending = createElement(Suspense, { fallback: 'waiting' }, createElement(Suspending, props));
const children = [createElement(Parts, { key: 1, ...props }), createElement('div', { key: 2 }, suspending)];
const provider = createElement(hooks.TidemarkProvider, { device }, children);
createRoot(document.getElementById('root')).render(createElement(StrictMode, null, provider));
`;

let app: BuiltApp;
const browser = startBrowser();

beforeAll(async () => {
  app = await startBuiltApp({ folder: 'react', code: () => APP, body: '<div id="root"></div>' });
  await app.admin.post('/rc/v1/sources', { name: 'Part', partition_type: 'user' });
});

afterAll(() => app.close());

it('[REACT-8] hooks say that a query on the disk is loading, show what it gives, load one object, and grow lists by pages', async () => {
  await makeUser(app.server, 'ada');
  const objects = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`p${n}`, { n }]));
  await app.admin.post('/app/v1/Part/push_objects', { user_id: 'ada', objects });
  const session = encodeURIComponent(JSON.stringify({ url: app.server.url, login: 'ada', password: USER_PASSWORD }));
  const page = await browser.openPage(`${app.url}/#${session}`);
  await page.getByText('first  loading; none loading; one 9; pages  loading').waitFor();
  await page.getByText('waiting').waitFor();
  await page.evaluate('letThrough()');
  await page.getByText('first p0,p1; none; one 9; pages p0,p1,p2 …').waitFor();
  await page.getByText('suspended p0,p1').waitFor();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByText('pages p0,p1,p2,p3,p4,p5 …').waitFor();
  await page.evaluate("device.source('Part').update('p0', { n: -1 })");
  await page.getByText('first p1,p2; none; one 9; pages p1,p2,p3,p4,p5,p6 …').waitFor();
  for (let more = 0; more < 2; more++) await page.getByRole('button', { name: 'More' }).click();
  await page.getByText('pages p1,p2,p3,p4,p5,p6,p7,p8,p9').waitFor();
  expect(await page.getByText('…').count()).toBe(0);
});
