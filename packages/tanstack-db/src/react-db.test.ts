import { createCollection as createOfOtherCopy } from '@tanstack/db';
import { type Collection, createCollection, eq, useLiveQuery } from '@tanstack/react-db';
import { openTestServer } from '@tidemark/client-testing';
import { createElement, type ReactElement } from 'react';
import { renderToString } from 'react-dom/server';
import { expect, it, onTestFinished } from 'vitest';
import { tidemarkCollectionOptions } from './index.ts';

interface Order {
  total: number;
}

type Orders = Collection<Order & { readonly id: string }, string>;

function LargeOrders({ orders }: { readonly orders: Orders }): ReactElement {
  const { data } = useLiveQuery((q) => q.from({ order: orders }).where(({ order }) => eq(order.total, 12)));
  return createElement('p', null, data.map(({ id }) => id).join());
}

/** Returns the options of a collection with two orders. */
async function ordersOptions() {
  const server = await openTestServer({ sources: [{ name: 'Order' }], users: ['ada'] });
  onTestFinished(() => server.close());
  await server.push('Order', { o1: { total: 12 }, o2: { total: 5 } }, { user: 'ada' });
  const device = await server.openDevice({ user: 'ada' });
  return tidemarkCollectionOptions({ device, source: device.source<Order>('Order') });
}

it('[TSDB-10] with @tanstack/react-db everything is imported from it, and its hooks follow the collections', async () => {
  // In this repository the types are those of two copies; an app that follows the page has one.
  const orders = createCollection((await ordersOptions()) as never) as unknown as Orders;
  await orders.preload();
  expect(renderToString(createElement(LargeOrders, { orders }))).toBe('<p>o1</p>');
});

it('[TSDB-10] a collection of another copy of @tanstack/db is refused by the hooks', async () => {
  const orders = createOfOtherCopy(await ordersOptions()) as unknown as Orders;
  await orders.preload();
  expect(() => renderToString(createElement(LargeOrders, { orders }))).toThrow(
    // Builds for production name the number of the error instead.
    /Invalid source|TanStack DB error 44/,
  );
});
