import { readFile } from 'node:fs/promises';
import { memoryStore } from '@tidemark/client';
import { expect, it } from 'vitest';
import { type LocalStoreEngine, localStoreCases, openTestServer, rejected } from './index.ts';

it('[KIT-4] the sample about testing an app runs', async () => {
  const server = await openTestServer({ sources: [{ name: 'Order', conflicts: 'detect' }], users: ['ada'] });
  await server.push('Order', { o1: { total: 1 } }, { user: 'ada' });
  const device = await server.openDevice({ user: 'ada' });
  await device.sync();

  server.network.goOffline();
  await device.source('Order').update('o1', { total: 2 });
  expect(device.uploads.list()).toHaveLength(1);

  server.network.goOnline();
  await device.sync();
  expect(await server.objects('Order', { user: 'ada' })).toEqual({ o1: { total: 2 } });
  await server.close();
});

it('[KIT-4] the sample about groups and a backend runs', async () => {
  const backend = {
    create: () => ({ id: '101' }),
    update: () => {
      throw rejected('the order is closed');
    },
  };
  const shop = await openTestServer({
    sources: [{ name: 'Order', partition_type: 'group', backend }],
    users: ['ada'],
    groups: { north: ['ada'] },
  });
  const phone = await shop.openDevice({ user: 'ada' });
  const order = await phone.source('Order').create({ total: 1 }, { group: 'north' });
  await phone.sync();
  expect(phone.source('Order').get(order.id)?.id).toBe('101'); // the id of the backend; the old one still finds it
  await phone.source('Order').update('101', { total: 2 });
  await phone.sync();
  expect(phone.problems.list()[0]?.error.detail).toBe('the order is closed');
  await shop.close();
});

const engine: LocalStoreEngine = {
  isDurable: false,
  newPlace: async () => ({ open: async () => memoryStore(), remove: async () => undefined }),
};
for (const { title, run } of localStoreCases) it(title, () => run(engine));

it('[KIT-4] every sample of the page about testing is run by a test', async () => {
  const text = await readFile(new URL('../../../docs/sdk/testing.md', import.meta.url), 'utf8');
  const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'));
  const samples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, sample = '']) => squeezed(sample));
  expect(samples).toHaveLength(3);
  for (const sample of samples) expect(here).toContain(sample);
});

function squeezed(text: string): string {
  return text.replace(/\s*\n\s*/g, '\n').trim();
}
