import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DeviceFixture, newDeviceFixture, temporaryFolder } from '@tidemark/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { type DeviceOptions, openDevice as openRealDevice } from './device/open-device.ts';
import { aesGcmSealer, encryptedStore } from './stores/encrypted-store.ts';
import { openFileStore as openRealFileStore } from './stores/file-store.ts';
import { memoryStore } from './stores/memory-store.ts';

let fixture: DeviceFixture;
const password = 'long enough';
const url = 'http://tidemark.test';

const openDevice = (options: DeviceOptions) =>
  openRealDevice({
    live: false,
    ...options,
    platform: { fetch: (address, init) => fixture.sync.fetch(address, init) },
  });

beforeEach(async () => {
  fixture = await newDeviceFixture();
  await fixture.tidemark.sources.declare({ name: 'Line', partition_type: 'user', references: { order_id: 'Order' } });
  await fixture.tidemark.objects.push({ source: 'Product', objects: { 1: { name: 'Compass' } } });
});

describe('the guide', () => {
  it('[SDK-14] the guide works from signing in to signing out', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const openFileStore = openRealFileStore;
    const store = await openFileStore(folder.path);
    const said: unknown[] = [];
    const console = { log: (...words: unknown[]) => said.push(words) };

    const device = await openDevice({ url, store });
    await device.signIn({ login: 'ada', password });
    await device.sync();

    const products = device.source('Product');
    for (const { id, attributes } of products.list()) console.log(id, attributes.name);
    expect(said).toEqual([['1', 'Compass']]);

    const orders = device.source<{ customer: string; total: number; note?: string }>('Order');
    const order = await orders.create({ customer: 'Ada', total: 12 });
    await orders.update(order.id, { note: 'after lunch' });
    await orders.delete(order.id);
    expect(orders.list()).toEqual([]);

    let rendered: readonly unknown[] = [];
    const render = (list: readonly unknown[]) => {
      rendered = list;
    };
    const stop = orders.subscribe(() => render(orders.list()));

    await device.write((draft) => {
      const orderId = draft.create('Order', { customer: 'Bob', total: 30 });
      draft.create('Line', { order_id: orderId, product: 'Compass', count: 2 });
    });
    expect([rendered.length, device.source('Line').list().length]).toEqual([1, 1]);
    stop();

    await device.sync();
    await device.signOut();
    await device.close();
  });

  it('[SDK-14] the guide handles problems', async () => {
    const said: unknown[] = [];
    const console = { log: (...words: unknown[]) => said.push(words) };
    const device = await openDevice({ url });
    await device.signIn({ login: 'ada', password });
    await device.sync();
    await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { taken: { n: 1 } } });
    await device.source('Order').create({ n: 2 }, { id: 'taken' });
    await device.sync();

    for (const problem of device.problems.list()) {
      console.log(problem.error.detail, problem.attributes, problem.current);
      if (problem.status === 'conflict') await device.problems.retry(problem.opId);
      else await device.problems.dismiss(problem.opId);
    }
    expect(said).toEqual([[expect.any(String), { n: 2 }, { n: 1 }]]);
    expect(device.problems.list()).toEqual([]);
    await device.close();
  });

  it('[SDK-14] the guide encrypts a store', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const openFileStore = (name: string) => openRealFileStore(join(folder.path, name));
    const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);
    const store = encryptedStore(await openFileStore('data'), aesGcmSealer(key));
    const device = await openDevice({ url, store });
    await device.signIn({ login: 'ada', password });
    await device.sync();
    expect(device.source('Product').list()).toHaveLength(1);
    await device.close();
  });

  it('[SDK-44] the table of options in the guide lists every option of openDevice, in words', async () => {
    const read = (path: string) => readFile(new URL(path, import.meta.url), 'utf8');
    const [, options = ''] =
      /interface DeviceOptions<[^{]*> \{(.*?)^\}/ms.exec(await read('./device/open-device.ts')) ?? [];
    const names = [...options.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name]) => name);
    const [, table = ''] = /^## Options\n(.*?)^\*\*/ms.exec(await read('../../../docs/sdk/guide.md')) ?? [];
    const rows = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(rows.sort()).toEqual(names.sort());
  });

  it('[SDK-14] the guide says what the app is', async () => {
    const store = memoryStore();
    const device = await openDevice({ url, store, about: { app: 'Field', version: '2.4.0', name: 'Till 3' } });
    await device.signIn({ login: 'ada', password });
    expect(await fixture.tidemark.clients.get(device.status.getSnapshot().clientId)).toMatchObject({
      ...{ device_app_id: 'Field', device_app_version: '2.4.0', device_name: 'Till 3', device_platform: 'node' },
    });
    await device.close();
  });

  it('[SDK-14] every sample of the guide is run by a test', async () => {
    await expectSamplesRun('guide', 8);
  });
});

describe('the page about queries', () => {
  it('[QUERY-8] the samples about queries give what the page says', async () => {
    await fixture.tidemark.sources.declare({ name: 'Customer', partition_type: 'user' });
    const said: unknown[] = [];
    const console = { log: (...words: unknown[]) => said.push(words) };
    const rendered: unknown[] = [];
    const render = (...words: unknown[]) => rendered.push(words);
    const device = await openDevice({ url });
    await device.signIn({ login: 'ada', password });
    await device.sync();

    interface Order {
      customer: string;
      status: 'open' | 'done';
      total: number;
      address?: { city: string };
    }
    const orders = device.source<Order>('Order', { indexes: ['status'] });
    const query = orders.query({
      where: { status: 'open', total: { gte: 10 }, 'address.city': { prefix: 'Ber' } },
      orderBy: [{ total: 'desc' }, 'customer'],
      limit: 20,
    });
    for (const { id, attributes } of query.list()) console.log(id, attributes.total);

    const stop = query.subscribe(() => render(query.list(), query.count()));
    const order = { customer: 'Ada', status: 'open', total: 120, address: { city: 'Bern' } } as const;
    await orders.create(order, { id: 'o1' });
    expect(rendered).toContainEqual([[expect.objectContaining({ id: 'o1', attributes: order })], 1]);

    const due = orders.query({
      where: { or: [{ total: { gt: 100 } }, { not: { status: { in: ['done'] } } }], address: { exists: true } },
    });
    expect(due.count()).toBe(1);

    await device.source('Line').create({ order_id: 'o1', product: 'Compass' });
    const lines = device.source<{ order_id: string; product: string }>('Line');
    for (const line of lines.query({ include: { order: 'order_id' } }).list()) {
      console.log(line.attributes.product, line.included.order?.attributes.customer);
    }
    const withLines = orders.query({ include: { lines: { source: lines, by: 'order_id' } } });
    for (const order of withLines.list()) console.log(order.attributes.customer, order.included.lines.length);
    expect(said).toEqual([
      ['Compass', 'Ada'],
      ['Ada', 1],
    ]);

    // biome-ignore format: the page has it on one line
    const customers = device.source('Customer', { schema: z.object({ name: z.string().min(1), vip: z.boolean().default(false) }) });
    const mistake = await customers.create({ name: '', vip: true }).catch((error) => error.message);
    expect(mistake).toMatch(/^Customer: name: /);
    stop();
    await device.close();
  });

  it('[QUERY-8] every sample of the page about queries is run by a test', async () => {
    await expectSamplesRun('queries', 5);
  });
});

async function expectSamplesRun(page: string, samplesMin: number): Promise<void> {
  const text = await readFile(new URL(`../../../docs/sdk/${page}.md`, import.meta.url), 'utf8');
  const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'));
  const samples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, sample = '']) => squeezed(sample));
  expect(samples.length).toBeGreaterThanOrEqual(samplesMin);
  for (const sample of samples) expect(here).toContain(sample);
}

/** Removes indentation and empty lines, which differ between a page and a test. */
function squeezed(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}
