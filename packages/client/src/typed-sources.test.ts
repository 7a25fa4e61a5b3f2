import type { Device as OpenedDevice } from '@tidemark/client';
import { newDeviceFixture } from '@tidemark/testing';
import { expect, expectTypeOf, it } from 'vitest';
import type { Attributes, Device, JsonValue, Source, SyncedObject } from './index.ts';
import { memoryStore, openDevice } from './index.ts';

// As `tidemark types` writes them.
type Order = {
  readonly customer_id: string;
  readonly total: number;
  readonly status?: 'open' | 'done';
  readonly address?: { readonly city: string };
};
type Customer = { readonly name: string; readonly vip?: boolean };
type Line = { readonly order_id: string; readonly count: number };
type Sources = {
  readonly Order: { readonly attributes: Order; readonly references: { readonly customer_id: 'Customer' } };
  readonly Customer: { readonly attributes: Customer };
  readonly Line: { readonly attributes: Line; readonly references: { readonly order_id: 'Order' } };
  readonly 'price list': { readonly attributes: { readonly [name: string]: JsonValue } };
};
const versions = {
  Order: { version: 2, steps: [[{ step: 'rename', attribute: 'sum', to: 'total' }]] },
  Customer: { version: 1, steps: [] },
} as const;

const url = 'http://127.0.0.1:9';

it('[TYPES-10] a device with types knows its sources by name, and a wrong name is a compile error', async () => {
  const device = await openDevice<Sources>({ url, store: memoryStore(), versions, sources: ['Order'] });
  expectTypeOf(device.source('Order').list()).toEqualTypeOf<readonly SyncedObject<Order>[]>();
  expectTypeOf(device.source('Customer').get('1')?.attributes.vip).toEqualTypeOf<boolean | undefined>();
  expectTypeOf(device.source('price list').get('1')?.attributes).toEqualTypeOf<Attributes | undefined>();
  expectTypeOf(device.search<'Customer'>).returns.resolves.toEqualTypeOf<ReadonlyMap<string, Customer>>();
  // @ts-expect-error there is no such source
  device.source('Ordr');
  // @ts-expect-error the type of a source is known by its name
  device.source<Customer>('Order');
  // @ts-expect-error there is no such source
  await openDevice<Sources>({ url, sources: ['Ordr'] }).then((other) => other.close());
  // @ts-expect-error a step needs the name that the attribute gets
  await openDevice({ url, versions: { Order: { version: 2, steps: [[{ step: 'rename', attribute: 'a' }]] } } }).then(
    (other) => other.close(),
  );
  expect(device.source('Order').name).toBe('Order');
  await device.close();
});

it('[TYPES-11] queries and relations of a device with types are typed by attributes, paths and references', async () => {
  const device = await openDevice<Sources>({ url, store: memoryStore() });
  const orders = device.source('Order');
  const query = orders.query({
    where: { status: 'open', 'address.city': { prefix: 'B' }, or: [{ total: { gt: 10 } }] },
    orderBy: [{ total: 'desc' }, 'address.city'],
    include: {
      customer: 'customer_id',
      lines: { source: 'Line', by: 'order_id' },
      same: { source: device.source('Customer'), via: 'customer_id' },
      named: { source: 'Customer', via: 'customer_id' },
    },
  });
  type Row = ReturnType<typeof query.list>[number];
  expectTypeOf<Row['attributes']>().toEqualTypeOf<Order>();
  expectTypeOf<Row['included']['customer']>().toEqualTypeOf<SyncedObject<Customer> | undefined>();
  expectTypeOf<Row['included']['lines']>().toEqualTypeOf<readonly SyncedObject<Line>[]>();
  expectTypeOf<Row['included']['same']>().toEqualTypeOf<SyncedObject<Customer> | undefined>();
  expectTypeOf<Row['included']['named']>().toEqualTypeOf<SyncedObject<Customer> | undefined>();
  const pages = orders.pages({ size: 10, include: { customer: 'customer_id' } });
  expectTypeOf(pages.list()[0]?.included.customer?.attributes.name).toEqualTypeOf<string | undefined>();
  // @ts-expect-error there is no such attribute
  orders.query({ where: { totl: 1 } });
  // @ts-expect-error a number is not compared with a text
  orders.query({ where: { total: 'many' } });
  // @ts-expect-error there is no such value
  orders.query({ where: { status: 'opn' } });
  // @ts-expect-error there is no such path
  orders.query({ orderBy: 'address.town' });
  // @ts-expect-error this attribute refers to no source
  orders.query({ include: { customer: 'status' } });
  // @ts-expect-error there is no such source
  orders.query({ include: { lines: { source: 'Lines', by: 'order_id' } } });
  // @ts-expect-error the source has no such attribute
  orders.query({ include: { lines: { source: 'Line', by: 'order' } } });
  // @ts-expect-error the source has no references
  device.source('Customer').query({ include: { orders: 'customer_id' } });
  expect(query.list()).toEqual([]);
  await device.close();
});

it('[TYPES-12] writes of a device with types take the attributes of each source, and nothing else', async () => {
  const fixture = await newDeviceFixture();
  const device: OpenedDevice<Sources> = await fixture.open();
  const orders = device.source('Order');
  const made = await fixture.finish(
    device.write((draft) => {
      const id = draft.create('Order', { customer_id: 'c1', total: 12, status: 'open' });
      draft.update('Order', id, { total: 13, status: undefined });
      return id;
    }),
  );
  expectTypeOf(made).toEqualTypeOf<string>();
  expect(orders.get(made)?.attributes).toEqual({ customer_id: 'c1', total: 13 });
  const mistakes = (draft: Parameters<Parameters<typeof device.write>[0]>[0]) => {
    // @ts-expect-error there is no such source
    draft.create('Ordr', { total: 1 });
    // @ts-expect-error an attribute that is required is missing
    draft.create('Order', { total: 1 });
    // @ts-expect-error there is no such attribute
    draft.create('Order', { customer_id: 'c1', totl: 1 });
    // @ts-expect-error the value has another type
    draft.update('Order', made, { total: 'many' });
    // @ts-expect-error there is no such attribute
    draft.update('Order', made, { totl: undefined });
    // @ts-expect-error there is no such source
    draft.delete('Ordr', made);
    // @ts-expect-error the value has another type
    void orders.create({ customer_id: 'c1', total: 1, status: 'opn' });
    // @ts-expect-error there is no such attribute
    void orders.update(made, { totl: 1 });
  };
  expect(typeof mistakes).toBe('function');
});

it('[TYPES-13] merge functions of a device with types get the attributes of their source', async () => {
  const device = await openDevice<Sources>({
    url,
    store: memoryStore(),
    merge: {
      Order: ({ mine, theirs }) => {
        expectTypeOf(mine).toEqualTypeOf<Partial<Order> | null>();
        expectTypeOf(theirs).toEqualTypeOf<Order | null>();
        return { total: Math.max(mine?.total ?? 0, theirs?.total ?? 0) };
      },
      // @ts-expect-error there is no such attribute
      Customer: () => ({ nme: 'Ada' }),
    },
  });
  expect(device.sourceNames()).toEqual([]);
  await device.close();
});

it('[TYPES-14] a device with types goes wherever any device does, and without types everything is as before', async () => {
  const typed = await openDevice<Sources>({ url, store: memoryStore() });
  const any: Device = typed;
  const orders: Source<Order> = typed.source('Order');
  expectTypeOf(any.source('Order')).toEqualTypeOf<Source>();
  expectTypeOf(any.source<Line>('Line')).toEqualTypeOf<Source<Line>>();
  expectTypeOf(await openDevice({ url, store: memoryStore() })).toEqualTypeOf<Device>();
  const [row] = orders.query({ include: { anything: 'goes' } }).list();
  expectTypeOf(row?.included.anything).toEqualTypeOf<SyncedObject | undefined>();
  expect(any.source('Order')).toBe(typed.source('Order'));
  await typed.close();
});
