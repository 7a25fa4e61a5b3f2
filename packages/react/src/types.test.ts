import { type Attributes, memoryStore, openDevice, type Source, type SyncedObject } from '@tidemark/client';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { expect, expectTypeOf, it } from 'vitest';
import { TidemarkProvider, useQuery, useSuspenseQuery } from './index.ts';

interface Order {
  readonly customer: string;
}

interface Line {
  readonly count: number;
}

type Related = SyncedObject | undefined | readonly SyncedObject[];

interface Sources {
  readonly orders: Source<Order>;
  readonly lines: Source<Line>;
}

it('[REACT-7] rows have the relations of a query in their type, also when the type of the source is given', async () => {
  const device = await openDevice({ url: 'http://127.0.0.1:9', store: memoryStore() });
  const sources = { orders: device.source<Order>('Order'), lines: device.source<Line>('Line') };
  const page = createElement(TidemarkProvider, { device: null }, createElement(Typed, sources));
  expect(renderToString(page)).toBe('checked');
  await device.close();
});

function Typed({ orders, lines }: Sources): string {
  for (const hook of [useQuery, useSuspenseQuery]) checkTypes(hook, orders, lines);
  return 'checked';
}

/** A server renders no rows, so that only the types say anything. */
function checkTypes(hook: typeof useQuery, orders: Source<Order>, lines: Source<Line>): void {
  const [inferred] = hook(orders, { include: { lines: { source: lines, by: 'order' }, owner: 'owner' } });
  expectTypeOf(inferred?.attributes.customer).toEqualTypeOf<string | undefined>();
  expectTypeOf(inferred?.included.lines).toEqualTypeOf<readonly SyncedObject<Line>[] | undefined>();
  expectTypeOf(inferred?.included.owner).toEqualTypeOf<SyncedObject | undefined>();

  const [untyped] = hook('Order', { include: { lines: { source: 'Line', by: 'order' } } });
  expectTypeOf(untyped?.attributes).toEqualTypeOf<Attributes | undefined>();
  expectTypeOf(untyped?.included.lines).toEqualTypeOf<readonly SyncedObject[] | undefined>();

  const [toMany] = hook<Order>('Order', { include: { lines: { source: 'Line', by: 'order' } } });
  expectTypeOf(toMany?.attributes.customer).toEqualTypeOf<string | undefined>();
  expectTypeOf(toMany?.included.lines).toEqualTypeOf<readonly SyncedObject[] | undefined>();

  const [toOne] = hook<Order>('Order', { include: { owner: 'owner', depot: { source: 'Depot', via: 'depot' } } });
  expectTypeOf(toOne?.attributes.customer).toEqualTypeOf<string | undefined>();
  expectTypeOf(toOne?.included.owner).toEqualTypeOf<SyncedObject | undefined>();

  const [mixed] = hook<Order>('Order', { include: { owner: 'owner', lines: { source: lines, by: 'order' } } });
  expectTypeOf(mixed?.attributes.customer).toEqualTypeOf<string | undefined>();
  expectTypeOf(mixed?.included.lines).toEqualTypeOf<Related>();

  const [plain] = hook<Order>('Order', { where: { customer: 'Ada' }, orderBy: 'customer' });
  expectTypeOf(plain).toEqualTypeOf<SyncedObject<Order> | undefined>();
  expectTypeOf(hook<Order>('Order')).toEqualTypeOf<readonly SyncedObject<Order>[]>();
  expectTypeOf(hook('Order')).toEqualTypeOf<readonly SyncedObject[]>();
  // @ts-expect-error there is no such path
  hook<Order>('Order', { where: { total: 1 }, include: { owner: 'owner' } });
  // @ts-expect-error a relation needs the attribute that points to the other object
  hook<Order>('Order', { include: { lines: { source: 'Line' } } });
}
