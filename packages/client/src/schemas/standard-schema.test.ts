import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import * as z from 'zod';
import type { StandardSchema } from './standard-schema.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
});

const Order = z.object({
  customer: z.string().min(1),
  total: z.number().default(0),
  note: z.string().optional(),
  address: z.object({ city: z.string() }).optional(),
});

describe('schemas of sources', () => {
  it('[SCHEMA-1] what does not match the schema of its source is refused before anything is stored', async () => {
    const device = await fixture.open();
    const orders = device.source('Order', { schema: Order });
    const refused: readonly (() => Promise<unknown>)[] = [
      () => orders.create({ customer: '', total: 1 }),
      () => orders.create({ total: 1 } as never),
      () => device.write((draft) => draft.create('Order', { customer: 7 })),
    ];
    for (const write of refused) {
      await expect(fixture.finish(write())).rejects.toMatchObject({
        code: 'invalid_value',
        message: expect.stringMatching(/^Order: customer: /),
      });
    }
    expect([orders.list(), device.uploads.list()]).toEqual([[], []]);
  });

  it('[SCHEMA-1] a schema may complete a new object, and checks an update as the whole object', async () => {
    const device = await fixture.open();
    const orders = device.source('Order', { schema: Order });
    const made = await fixture.finish(device.write((draft) => draft.create('Order', { customer: 'Ada' })));
    expect(orders.get(made)?.attributes).toEqual({ customer: 'Ada', total: 0 });
    await fixture.finish(orders.update(made, { note: 'late' }));
    expect(orders.get(made)?.attributes).toEqual({ customer: 'Ada', total: 0, note: 'late' });
    await expect(fixture.finish(orders.update(made, { total: 'many' } as never))).rejects.toMatchObject({
      code: 'invalid_value',
    });
  });

  it('[SDK-41] an update of an object that does not match its schema is refused only for attributes that it changes', async () => {
    const device = await fixture.open();
    // As an earlier version of the app, or the backend, has written it.
    const id = await fixture.finish(device.source('Order').create({ total: 7, address: { street: 'Kai 1' } }));
    const strict = Order.refine(({ note }) => note !== 'never', 'no such note');
    const orders = device.source('Order', { schema: strict });
    await fixture.finish(orders.update(id.id, { note: 'late', total: 8 }));
    expect(orders.get(id.id)?.attributes).toEqual({ total: 8, address: { street: 'Kai 1' }, note: 'late' });
    await expect(fixture.finish(orders.update(id.id, { total: 'many' } as never))).rejects.toMatchObject({
      message: expect.stringMatching(/^Order: total: [^;]*$/),
    });
    await expect(fixture.finish(orders.update(id.id, { address: { lane: 2 } } as never))).rejects.toMatchObject({
      message: expect.stringMatching(/^Order: address\.city: [^;]*$/),
    });
    await fixture.finish(orders.update(id.id, { customer: 'Ada', address: { city: 'Kiel' } }));
    // A rule about the object as a whole counts for every update.
    await expect(fixture.finish(orders.update(id.id, { note: 'never' }))).rejects.toMatchObject({
      message: 'Order: no such note',
    });
  });

  it('[SCHEMA-1] an asynchronous schema is refused, because writes show at once', async () => {
    const device = await fixture.open();
    const slow: StandardSchema<{ a: number }> = {
      '~standard': { version: 1, vendor: 'test', validate: async (value) => ({ value: value as { a: number } }) },
    };
    const write = device.source('Order', { schema: slow }).create({ a: 1 });
    await expect(fixture.finish(write)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('[SCHEMA-2] objects, conditions, orders and relations are typed from the schema or the type of the source', async () => {
    const device = await fixture.open();
    const orders = device.source('Order', { schema: Order });
    expectTypeOf(orders.list()[0]?.attributes.total).toEqualTypeOf<number | undefined>();
    const lines = device.source<{ order_id: string; count: number }>('Line');
    const query = orders.query({
      where: { total: { gte: 1 }, 'address.city': { prefix: 'B' }, or: [{ note: 'x' }, { note: { exists: false } }] },
      orderBy: ['customer', { 'address.city': 'desc' }],
      include: { lines: { source: lines, by: 'order_id' } },
    });
    expectTypeOf(query.list()[0]?.included.lines[0]?.attributes.count).toEqualTypeOf<number | undefined>();
    expectTypeOf(orders.query().list()[0]?.attributes.customer).toEqualTypeOf<string | undefined>();
    // @ts-expect-error there is no such attribute
    orders.query({ where: { totl: 1 } });
    // @ts-expect-error a number is not compared with a text
    orders.query({ where: { total: { gt: 'x' } } });
    // @ts-expect-error there is no such path
    orders.query({ orderBy: 'address.street' });
    expect(query.list()).toEqual([]);
  });
});
