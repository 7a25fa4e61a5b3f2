import { LIVE_OBJECTS_MAX, LIVE_UNITS_MAX, type Page } from '@tidemark/protocol';
import { newTidemark, pullPage, type TestTidemark } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Committed } from '../journal/committed.ts';
import { pageJson } from '../pages/render-page.ts';
import type { Adapter } from '../ports/adapter.ts';

let test: TestTidemark;
let committed: Committed[];

beforeEach(async () => {
  await begin(await newTidemark());
});

async function begin(fixture: TestTidemark): Promise<void> {
  test = fixture;
  committed = [];
  test.tidemark.events.on('committed', (one) => committed.push(one));
  await test.tidemark.clients.register('ada', { client_id: 'phone' });
}

const push = (objects: Record<string, Record<string, unknown>>, source = 'Product') =>
  test.tidemark.objects.push({ source, ...(source === 'Product' ? {} : { user_id: 'ada' }), objects });

/** Reads the page of the last commit. */
async function livePage(): Promise<{ readonly from: string; readonly page: Page } | null> {
  const { partition, range } = committed.at(-1) as Committed;
  const live = range === undefined ? null : await test.tidemark.devices.livePage(partition, range);
  return live && { from: live.from, page: JSON.parse(pageJson(live.page.token, live.page.body)) as Page };
}

async function pull(source: string, token: string | null): Promise<Page> {
  const { json } = await pullPage(test.tidemark, { user: 'ada', client: 'phone' }, { source, token });
  return JSON.parse(json) as Page;
}

const numbered = (count: number, text = '') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}`, { text }]));

describe('live pages', () => {
  it.each(['Product', 'Order'])(
    '[EVENT-10] the page after a commit to %s is what a device that held everything would pull',
    async (source) => {
      await push({ 1: { a: 1, b: 1 }, 2: { a: 1 } }, source);
      const { token } = await pull(source, null);
      await push({ 1: { a: 2 }, 3: { a: 1 } }, source);
      expect(await livePage()).toEqual({ from: token, page: await pull(source, token) });
      expect((await livePage())?.page).toMatchObject({ patch: { 1: { a: 2 } }, put: { 3: { a: 1 } }, more: false });
    },
  );

  it('[EVENT-10] commits after the announced one are on the page, too', async () => {
    await push({ 1: { a: 1 } });
    const { token } = await pull('Product', null);
    await push({ 2: { a: 1 } });
    const first = committed.at(-1) as Committed;
    await push({ 3: { a: 1 } });
    committed.push(first);
    expect(await livePage()).toEqual({ from: token, page: await pull('Product', token) });
  });

  it('[EVENT-12] a page of too many objects or too much text is not read', async () => {
    await push({ 0: {} });
    await push(numbered(LIVE_OBJECTS_MAX));
    expect(Object.keys((await livePage())?.page.put ?? {}).length).toBe(LIVE_OBJECTS_MAX);
    await push(numbered(LIVE_OBJECTS_MAX + 1, 'changed'));
    expect(await livePage()).toBeNull();
    await push({ 0: { text: 'x'.repeat(LIVE_UNITS_MAX) } });
    expect(await livePage()).toBeNull();
    await push({ 0: { text: 'x'.repeat(LIVE_UNITS_MAX / 2) } });
    expect(await livePage()).not.toBeNull();
  });

  it('[EVENT-12] no page is read of objects of which only some fit on it', async () => {
    await push({ 0: {} });
    await push({ 1: { text: 'x'.repeat(LIVE_UNITS_MAX * 0.6) }, 2: { text: 'y'.repeat(LIVE_UNITS_MAX * 0.6) } });
    expect(await livePage()).toBeNull();
  });

  it('[EVENT-12] no page is read of data that pulls do not deliver from the partition any more', async () => {
    const { tidemark } = test;
    await push({ 1: { a: 1 } });
    await tidemark.sources.update('Product', { sync_type: 'bulk_only' });
    expect(await livePage()).toBeNull();
    await tidemark.sources.drop('Product');
    expect(await livePage()).toBeNull();
    await tidemark.sources.declare({ name: 'Product', partition_type: 'user' });
    expect(await livePage()).toBeNull();
  });

  it('[EVENT-12] no page is read for a partition that was erased and made again', async () => {
    await push({ 1: { a: 1 } }, 'Order');
    await push({ 2: { a: 1 } }, 'Order');
    const last = committed.at(-1) as Committed;
    await test.tidemark.users.delete('ada');
    await test.tidemark.users.create({ attributes: { login: 'ada', password: 'another one' } });
    await push({ secret: { a: 1 }, other: { a: 1 } }, 'Order');
    committed.push(last);
    expect(await livePage()).toBeNull();
  });

  it('[EVENT-12] no page is read where a source module decides which partition is the user’s', async () => {
    const adapter = { partition: async () => null, query: async () => ({ objects: {} }) } as unknown as Adapter;
    await begin(await newTidemark({ adapters: { find: (name) => (name === 'Visit' ? adapter : null) } }));
    await test.tidemark.sources.declare({ name: 'Visit', adapter: 'Visit' });
    await push({ 1: { a: 1 } }, 'Visit');
    expect(committed).toHaveLength(1);
    expect(await livePage()).toBeNull();
  });
});
