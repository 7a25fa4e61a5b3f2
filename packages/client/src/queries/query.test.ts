import type { Device } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Where } from './query-options.ts';
import { compareValues, type Value } from './value-order.ts';

let fixture: DeviceFixture;
let device: Device;

interface Order {
  readonly customer: string;
  readonly total: number;
  readonly note?: string;
  readonly address?: { readonly city: string };
}

beforeEach(async () => {
  fixture = await newDeviceFixture();
  await fixture.tidemark.sources.declare({ name: 'Line', partition_type: 'user', references: { order_id: 'Order' } });
});

async function open(objects: Record<string, Record<string, unknown>> = {}): Promise<Device> {
  await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects });
  device = await fixture.open();
  await fixture.finish(device.sync());
  // Offline, an edit is one change: no confirmation of the server follows.
  fixture.platform.setOnline(false);
  return device;
}

const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);

describe('conditions', () => {
  const objects = {
    a: { customer: 'Ada', total: 3, address: { city: 'Berlin' } },
    b: { customer: 'Bob', total: 12, tags: ['x'] },
    c: { customer: 'Cem', total: null, address: { city: 'Bern' } },
    d: { customer: 'Ada', total: '7', 'a.b': 1, or: 2 },
  };
  const cases: readonly (readonly [Where, readonly string[]])[] = [
    [{}, ['a', 'b', 'c', 'd']],
    [{ customer: 'Ada' }, ['a', 'd']],
    [{ total: { gt: 3 } }, ['b']],
    [{ total: { gte: 3, lt: 12 } }, ['a']],
    [{ total: { lte: 12 } }, ['a', 'b']],
    [{ total: null }, ['c']],
    [{ total: { ne: 3 } }, ['b', 'c', 'd']],
    [{ missing: { ne: 3 } }, ['a', 'b', 'c', 'd']],
    [{ address: { exists: false } }, ['b', 'd']],
    [{ total: { exists: true } }, ['a', 'b', 'c', 'd']],
    [{ customer: { in: ['Bob', 'Cem', 'Bob'] } }, ['b', 'c']],
    [{ customer: { in: [] } }, []],
    [{ 'address.city': { prefix: 'Ber' } }, ['a', 'c']],
    [{ 'address.city': 'Bern' }, ['c']],
    [{ tags: ['x'] }, ['b']],
    [{ address: { eq: { city: 'Bern' } } }, ['c']],
    [{ 'a\\.b': 1 }, ['d']],
    [{ '\\or': 2 }, ['d']],
    [{ or: [{ total: 3 }, { customer: 'Cem' }] }, ['a', 'c']],
    [{ or: [] }, []],
    [{ and: [{ customer: 'Ada' }, { not: { total: 3 } }] }, ['d']],
  ];

  it('[QUERY-1] conditions compare values of one type, look into values by paths, and combine by and, or, not', async () => {
    await open(objects);
    for (const [where, ids] of cases) {
      expect([where, idsOf(device.source('Order').query({ where }).list())]).toEqual([where, ids]);
    }
  });

  it('[QUERY-2] an index changes nothing about the result', async () => {
    await open(objects);
    device.source('Order', { indexes: ['customer', 'total', 'address.city', 'missing', 'tags', 'a\\.b', '\\or'] });
    for (const [where, ids] of cases) {
      expect([where, idsOf(device.source('Order').query({ where }).list())]).toEqual([where, ids]);
    }
  });

  it('[QUERY-3] a malformed query is refused at once with what is wrong', async () => {
    await open();
    const refused = [
      { where: { a: undefined } },
      { where: { a: {} } },
      { where: { a: { like: 'x' } } },
      { where: { a: { in: 'x' } } },
      { where: { a: { prefix: 1 } } },
      { where: { or: { a: 1 } } },
      { where: { a: { gt: Number.NaN } } },
      { where: { a: new Date(0) } },
      { where: 'a' },
      { orderBy: { a: 'up' } },
      { orderBy: [1] },
      { limit: -1 },
      { offset: 1.5 },
    ];
    for (const options of refused) {
      expect(() => device.source('Order').query(options as never)).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    }
  });
});

describe('order', () => {
  it('[QUERY-4] values of all types have one total order, and equal keys are ordered by id', async () => {
    const sorted: readonly Value[] = [
      undefined,
      null,
      false,
      true,
      -1,
      0,
      2,
      '',
      'B',
      'a',
      'ab',
      'é',
      [],
      [1],
      [1, 2],
      [2],
      {},
      { a: 1 },
      { a: 2 },
      { a: 2, b: 0 },
      { b: 0 },
    ];
    for (const [left, value] of sorted.entries()) {
      for (const [right, other] of sorted.entries()) {
        expect(Math.sign(compareValues(value, other)), JSON.stringify([value, other])).toBe(Math.sign(left - right));
      }
    }
    await open({ 2: { n: 1 }, 1: { n: 1 }, 3: { n: 0 }, 4: { m: 1 }, 5: { n: null } });
    const orders = device.source('Order');
    expect(idsOf(orders.query({ orderBy: 'n' }).list())).toEqual(['4', '5', '3', '1', '2']);
    expect(idsOf(orders.query({ orderBy: { n: 'desc' } }).list())).toEqual(['1', '2', '3', '5', '4']);
    expect(idsOf(orders.query({ orderBy: ['m', { n: 'desc' }], offset: 1, limit: 2 }).list())).toEqual(['2', '3']);
  });
});

describe('following', () => {
  it('[QUERY-5] a result is the same list until it changes, and only then are subscribers called', async () => {
    await open({
      1: { customer: 'Ada', total: 1 },
      2: { customer: 'Bob', total: 2 },
      3: { customer: 'Cem', total: 3 },
    });
    const orders = device.source<Order>('Order');
    const query = orders.query({ orderBy: { total: 'desc' }, limit: 2 });
    const first = query.getSnapshot();
    expect(orders.query({ orderBy: { total: 'desc' }, limit: 2 })).toBe(query);
    let calls = 0;
    let counts = 0;
    const stops = [query.subscribe(() => calls++), query.total.subscribe(() => counts++)];
    await fixture.finish(orders.update('1', { note: 'outside of the result' }));
    await fixture.finish(orders.create({ customer: 'Dee', total: 0 }, { id: '0' }));
    expect([query.getSnapshot() === first, calls, counts, query.count()]).toEqual([true, 0, 1, 4]);
    await fixture.finish(orders.update('1', { total: 9 }));
    expect([idsOf(query.getSnapshot()), calls]).toEqual([['1', '3'], 1]);
    expect(query.getSnapshot()[1]).toBe(first[0]);
    for (const stop of [...stops, ...stops]) stop();
    expect(query.isLive).toBe(false);
    const last = query.getSnapshot();
    await fixture.finish(orders.update('2', { note: 'nobody follows' }));
    expect([query.getSnapshot() === last, calls]).toEqual([true, 1]);
    await fixture.finish(orders.delete('3'));
    expect([idsOf(query.getSnapshot()), calls]).toEqual([['1', '2'], 1]);
  });

  it('[QUERY-6] many new objects are merged into a followed result, and leave it the same if none matches', async () => {
    await open();
    const orders = device.source<{ n: number }>('Order');
    const create = (from: number, count: number) =>
      device.write((draft) => {
        for (let n = from; n < from + count; n++) draft.create('Order', { n: (n * 7) % 1_000 }, { id: `o${n}` });
      });
    const query = orders.query({ where: { n: { gte: 500 } }, orderBy: [{ n: 'desc' }] });
    let calls = 0;
    query.subscribe(() => calls++);
    await create(0, 150);
    await create(150, 300);
    const expected = [...orders.list()].filter(({ attributes }) => attributes.n >= 500);
    expected.sort((left, right) => right.attributes.n - left.attributes.n || (left.id < right.id ? -1 : 1));
    expect([query.list(), calls]).toEqual([expected, 2]);
    const none = orders.query({ where: { n: -1 } });
    const before = none.list();
    none.subscribe(() => calls++);
    await create(450, 300);
    const matching = orders.list().filter(({ attributes }) => attributes.n >= 500);
    expect([none.list() === before, query.count(), calls]).toEqual([true, matching.length, 3]);
  });

  it('[QUERY-6] over random edits every followed result equals a naive evaluation', async () => {
    await open();
    const value = fc.oneof(
      fc.constantFrom<unknown>(null, true, false, 'a', 'ab', 'b', [1], { x: 1 }),
      fc.integer({ min: -2, max: 3 }),
    );
    const attributes = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value, { minKeys: 1 });
    const edit = fc.oneof(
      { weight: 5, arbitrary: fc.tuple(fc.constant('put'), fc.integer({ min: 0, max: 12 }), attributes) },
      { weight: 2, arbitrary: fc.tuple(fc.constant('delete'), fc.integer({ min: 0, max: 12 }), fc.constant({})) },
    );
    const operator = fc.oneof(
      fc.tuple(fc.constantFrom('eq', 'ne', 'lt', 'lte', 'gt', 'gte'), value),
      fc.tuple(fc.constant('in'), fc.array(value, { maxLength: 3 })),
      fc.tuple(fc.constant('prefix'), fc.constantFrom('', 'a', 'ab')),
      fc.tuple(fc.constant('exists'), fc.boolean()),
    );
    const { where } = fc.letrec<{ where: Record<string, unknown> }>((tie) => ({
      where: fc.oneof(
        { maxDepth: 2 },
        fc
          .tuple(fc.constantFrom('a', 'b', 'c.x'), operator)
          .map(([path, [name, operand]]) => ({ [path]: { [name]: operand } })),
        fc.tuple(fc.constantFrom('and', 'or'), fc.array(tie('where'), { maxLength: 3 })).map(([name, list]) => ({
          [name]: list,
        })),
        tie('where').map((inner) => ({ not: inner })),
      ),
    }));
    const options = fc.record({
      where,
      orderBy: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c.x'), fc.constantFrom('asc', 'desc')), { maxLength: 2 }),
      limit: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
      offset: fc.integer({ min: 0, max: 3 }),
      index: fc.boolean(),
    });
    const orders = device.source<Record<string, unknown>>('Order');
    await fc.assert(
      fc.asyncProperty(
        fc.array(options, { maxLength: 4 }),
        fc.array(edit, { maxLength: 25 }),
        async (queries, edits) => {
          const followed = queries.map(({ index, orderBy, ...rest }) => {
            if (index) device.source('Order', { indexes: ['a', 'c.x'] });
            const terms = orderBy.map(([path, direction]) => ({ [path]: direction }));
            const query = orders.query({ ...rest, orderBy: terms } as never);
            const seen = { calls: 0, rows: query.getSnapshot() };
            const stop = query.subscribe(() => seen.calls++);
            return { query, seen, stop, naive: () => naive(rest, orderBy) };
          });
          try {
            for (const [kind, number, given] of edits) {
              const id = String(number);
              const before = followed.map(({ query, seen }) => ({ rows: query.getSnapshot(), calls: seen.calls }));
              await fixture.finish(
                device.write((draft) => {
                  if (orders.get(id) !== undefined) draft.delete('Order', id);
                  if (kind === 'put') draft.create('Order', given, { id });
                }),
              );
              for (const [at, { query, seen, naive }] of followed.entries()) {
                const { rows, total } = naive();
                expect(idsOf(query.getSnapshot())).toEqual(rows.map((row) => row.id));
                expect(query.getSnapshot()).toEqual(rows);
                expect(query.count()).toBe(total);
                const isSame = query.getSnapshot() === before[at]?.rows;
                expect(seen.calls - (before[at]?.calls ?? 0)).toBe(isSame ? 0 : 1);
              }
            }
          } finally {
            for (const { stop } of followed) stop();
          }
        },
      ),
      { numRuns: 60, seed: 7 },
    );
  });
});

describe('relations', () => {
  const line = (id: string, order: string) => ({ [id]: { order_id: order, count: 1 } });

  async function openWithLines(): Promise<void> {
    const objects = { ...line('l1', 'o1'), ...line('l2', 'o2'), ...line('l3', 'o1') };
    await fixture.tidemark.objects.push({ source: 'Line', user_id: 'ada', objects });
    await open({ o1: { customer: 'Ada', total: 1 }, o2: { customer: 'Bob', total: 2 } });
  }

  it('[QUERY-7] a query includes what its objects refer to and what refers to them, and follows both', async () => {
    await openWithLines();
    const [orders, lines] = [device.source<Order>('Order'), device.source<{ order_id: string; count: number }>('Line')];
    const ofLines = lines.query({ include: { order: 'order_id' } });
    const ofOrders = orders.query({
      where: { total: { lt: 5 } },
      include: { lines: { source: lines, by: 'order_id' } },
    });
    const shown = () => ({
      orders: ofLines.list().map(({ id, included }) => [id, included.order?.attributes.customer]),
      lines: ofOrders.list().map(({ id, included }) => [id, included.lines.map((one) => one.id)]),
    });
    const expectNaive = () => {
      const nameOf = (id: string) => orders.get(id)?.attributes.customer;
      const linesOf = (id: string) => lines.list().filter(({ attributes }) => attributes.order_id === id);
      expect(shown()).toEqual({
        orders: lines.list().map(({ id, attributes }) => [id, nameOf(attributes.order_id)]),
        lines: orders
          .query({ where: { total: { lt: 5 } } })
          .list()
          .map(({ id }) => [id, idsOf(linesOf(id))]),
      });
    };
    expectNaive();
    const before = [ofLines.list(), ofOrders.list()] as const;
    let calls = 0;
    const stops = [ofLines.subscribe(() => calls++), ofOrders.subscribe(() => calls++)];
    expect([ofLines.list() === before[0], ofOrders.list() === before[1]]).toEqual([true, true]);
    const edits: readonly (() => Promise<unknown>)[] = [
      () => orders.update('o1', { customer: 'Ann' }),
      () => lines.update('l1', { order_id: 'o2' }),
      () => lines.update('l2', { order_id: 'nobody' }),
      () => orders.delete('o2'),
      () => lines.delete('l3'),
      () =>
        device.write((draft) => {
          draft.create('Line', { order_id: 'o9', count: 2 }, { id: 'l9' });
          draft.create('Order', { customer: 'Ida', total: 3 }, { id: 'o9' });
        }),
      () => orders.update('o9', { total: 7 }),
    ];
    for (const edit of edits) {
      const last = calls;
      await fixture.finish(edit());
      expectNaive();
      expect(calls).toBeGreaterThan(last);
    }
    const [unchanged] = [ofLines.list()];
    await fixture.finish(
      device
        .source('Product')
        .create({ name: 'of no concern' })
        .catch(() => undefined),
    );
    expect(ofLines.list()).toBe(unchanged);
    for (const stop of stops) stop();
    expectNaive();
  });

  it('[QUERY-7] a reference that the server declares after the query was made is followed', async () => {
    device = await fixture.open();
    const lines = device.source('Line').query({ include: { order: 'order_id' } });
    const stop = lines.subscribe(() => undefined);
    expect(lines.list()).toEqual([]);
    await fixture.tidemark.objects.push({ source: 'Line', user_id: 'ada', objects: line('l1', 'o1') });
    await fixture.finish(device.sync());
    expect(lines.list().map(({ included }) => included.order)).toEqual([undefined]);
    await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { o1: { customer: 'Ada' } } });
    await fixture.finish(device.sync());
    expect(lines.list().map(({ included }) => included.order?.attributes)).toEqual([{ customer: 'Ada' }]);
    stop();
  });
});

/** Evaluates a query over all objects by the words of the documentation, without any of the code under test. */
function naive(
  { where, limit, offset }: { where: unknown; limit: number | undefined; offset: number },
  orderBy: readonly (readonly [string, string])[],
) {
  const at = (attributes: unknown, path: string) =>
    path.split('.').reduce<unknown>((value, name) => {
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      return isObject ? (value as Record<string, unknown>)[name] : undefined;
    }, attributes);
  const matches = device
    .source('Order')
    .list()
    .filter(({ attributes }) => holds(where as Record<string, unknown>, (path) => at(attributes, path)));
  const sorted = [...matches].sort((left, right) => {
    for (const [path, direction] of orderBy) {
      const order = naiveCompare(at(left.attributes, path), at(right.attributes, path));
      if (order !== 0) return direction === 'desc' ? -order : order;
    }
    return left.id < right.id ? -1 : 1;
  });
  return { rows: sorted.slice(offset, limit === undefined ? undefined : offset + limit), total: matches.length };
}

function holds(where: Record<string, unknown>, at: (path: string) => unknown): boolean {
  return Object.entries(where).every(([name, condition]) => {
    if (name === 'and') return (condition as Record<string, unknown>[]).every((one) => holds(one, at));
    if (name === 'or') return (condition as Record<string, unknown>[]).some((one) => holds(one, at));
    if (name === 'not') return !holds(condition as Record<string, unknown>, at);
    return Object.entries(condition as Record<string, unknown>).every(([operator, operand]) =>
      naiveTest(operator, at(name), operand),
    );
  });
}

const TYPES = ['missing', 'null', 'boolean', 'number', 'string', 'array', 'object'];

function naiveType(value: unknown): number {
  if (value === undefined) return 0;
  if (value === null) return 1;
  return TYPES.indexOf(Array.isArray(value) ? 'array' : typeof value);
}

/** Arrays and objects of these tests have one member of one name. */
function naiveCompare(left: unknown, right: unknown): number {
  if (naiveType(left) !== naiveType(right)) return naiveType(left) - naiveType(right);
  if (typeof left === 'string') return left < String(right) ? -1 : Number(left > String(right));
  return Number(left) - Number(right) || 0;
}

function naiveTest(operator: string, value: unknown, operand: unknown): boolean {
  const order = naiveCompare(value, operand);
  const isOfType = naiveType(value) === naiveType(operand);
  if (operator === 'eq') return JSON.stringify(value) === JSON.stringify(operand);
  if (operator === 'ne') return JSON.stringify(value) !== JSON.stringify(operand);
  if (operator === 'in') return (operand as unknown[]).some((one) => JSON.stringify(one) === JSON.stringify(value));
  if (operator === 'prefix') return typeof value === 'string' && value.startsWith(operand as string);
  if (operator === 'exists') return (value !== undefined) === operand;
  const holds = { lt: order < 0, lte: order <= 0, gt: order > 0, gte: order >= 0 }[operator];
  return isOfType && holds === true;
}
