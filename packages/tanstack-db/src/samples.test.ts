import { readFile } from 'node:fs/promises';
import { createCollection, createLiveQueryCollection, createTransaction, eq, gt } from '@tanstack/db';
import { openTestServer } from '@tidemark/client-testing';
import { expect, it, onTestFinished } from 'vitest';
import { storeTransaction, tidemarkCollectionOptions, UploadRefusedError } from './index.ts';

it('[TSDB-6] the samples about TanStack DB give what the page says', async () => {
  const server = await openTestServer({ sources: [{ name: 'Order' }, { name: 'Customer' }], users: ['ada'] });
  onTestFinished(() => server.close());
  await server.push('Customer', { c1: { name: 'Ann' } }, { user: 'ada' });
  const device = await server.openDevice({ user: 'ada' });
  const said: unknown[] = [];
  const console = { log: (word: unknown) => said.push(word) };

  interface Customer {
    name: string;
  }
  interface Order {
    customer_id: string;
    total: number;
  }
  const customers = createCollection(
    tidemarkCollectionOptions({ device, source: device.source<Customer>('Customer') }),
  );
  const orders = createCollection(tidemarkCollectionOptions({ device, source: device.source<Order>('Order') }));

  const large = createLiveQueryCollection((q) =>
    q
      .from({ order: orders })
      .innerJoin({ customer: customers }, ({ order, customer }) => eq(order.customer_id, customer.id))
      .where(({ order }) => gt(order.total, 10))
      .select(({ order, customer }) => ({ id: order.id, name: customer.name, total: order.total })),
  );
  await large.preload();

  const id = crypto.randomUUID();
  const transaction = orders.insert({ id, customer_id: 'c1', total: 12 });
  await transaction.isPersisted.promise;
  orders.update(id, (draft) => {
    draft.total = 15;
  });
  expect(large.toArray).toMatchObject([{ id, name: 'Ann', total: 15 }]);

  try {
    await orders.utils.whenConfirmed(transaction);
  } catch (error) {
    if (error instanceof UploadRefusedError) console.log(error.problem.error.detail);
  }
  expect(said).toEqual([]);

  const sale = createTransaction({ mutationFn: ({ transaction }) => storeTransaction(device, transaction) });
  sale.mutate(() => {
    customers.insert({ id: 'c2', name: 'Ben' });
    orders.insert({ id: 'o2', customer_id: 'c2', total: 30 });
  });
  await orders.utils.whenConfirmed(sale);
  expect(large.toArray).toHaveLength(2);
  expect(Object.keys(await server.objects('Order', { user: 'ada' }))).toHaveLength(2);
});

it('[TSDB-6] every sample of the page about TanStack DB is run by a test', async () => {
  const text = await readFile(new URL('../../../docs/guides/tanstack-db.md', import.meta.url), 'utf8');
  const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'));
  const samples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, sample = '']) => squeezed(sample));
  expect(samples).toHaveLength(5);
  for (const sample of samples) expect(here).toContain(sample);
});

function squeezed(text: string): string {
  return text.replace(/\s*\n\s*/g, '\n').trim();
}
