import { readFile } from 'node:fs/promises';
import { type DeviceWorld, newDeviceWorld, temporaryFolder } from '@tidemark/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type DeviceOptions, openDevice as openRealDevice } from './open-device.ts';
import { openFileStore } from './stores/file-store.ts';

let world: DeviceWorld;
const password = 'long enough';
const url = 'http://tidemark.test';

const openDevice = (options: DeviceOptions) =>
  openRealDevice({ live: false, ...options, platform: { fetch: (address, init) => world.sync.fetch(address, init) } });

beforeEach(async () => {
  world = await newDeviceWorld();
  await world.tidemark.sources.declare({ name: 'Line', partition_type: 'user', references: { order_id: 'Order' } });
  await world.tidemark.pushObjects({ source: 'Product', objects: { 1: { name: 'Compass' } } });
});

describe('the guide', () => {
  it('[SDK-14] the guide works from signing in to signing out', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
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
    await world.tidemark.pushObjects({ source: 'Order', user_id: 'ada', objects: { taken: { n: 1 } } });
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

  it('[SDK-14] every sample of the guide is run by a test', async () => {
    const guide = await readFile(new URL('../../../docs/sdk/guide.md', import.meta.url), 'utf8');
    const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'));
    const samples = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, sample = '']) => squeezed(sample));
    expect(samples.length).toBeGreaterThanOrEqual(6);
    for (const sample of samples) expect(here).toContain(sample);
  });
});

/** Removes indentation and empty lines, which differ between a page and a test. */
function squeezed(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}
