import {
  DEFAULT_LIMITS,
  FILTER_CONDITIONS_MAX,
  type JsonValue,
  type ObjectList,
  SORTED_TEXT_UNITS_MAX,
} from '@tidemark/protocol';
import { newTidemark, Rng, refusalOf, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { sharedPartition } from '../ports/owner.ts';
import type { ObjectPageCall } from './object-page.ts';
import { objectPage } from './object-page.ts';

type Objects = Readonly<Record<string, Readonly<Record<string, JsonValue>>>>;
type Query = Omit<ObjectPageCall, 'filter'> & { readonly filter?: unknown };

const PRODUCTS = { kind: 'shared', source: 'Product' } as const;
const WARES: Objects = {
  anchor: { name: 'Anchor', price: 90, stock: 2, tags: ['iron'] },
  buoy: { name: 'Buoy', price: 9.5, stock: 0, size: { cm: 40 } },
  chart: { name: 'chart', price: '12', note: null },
  dinghy: { name: 'Dinghy', price: 1_200, isNew: true },
  'e.bell': { 'sea.name': 'Bell', '@id': 'x', or: 1 },
};

async function openWares(objects: Objects = WARES) {
  const { tidemark, store } = await newTidemark();
  await tidemark.objects.push({ source: 'Product', objects });
  const list = async ({ filter, ...query }: Query = {}) => {
    const call = { ...query, ...(filter === undefined ? {} : { filter: JSON.stringify(filter) }) };
    return JSON.parse(await tidemark.documents.listObjects(PRODUCTS, call)) as ObjectList;
  };
  const ids = async (query: Query) => (await list(query)).objects.map(({ id }) => id);
  /** All pages, one after the other. */
  const every = async (query: Query) => {
    const found: string[] = [];
    for (let after: ObjectList['next'] | undefined, pages = 0; after !== null && pages < 1_000; pages++) {
      const page = await list({ ...query, ...(after === undefined ? {} : { after: String(after) }) });
      found.push(...page.objects.map(({ id }) => id));
      after = page.next;
    }
    return found;
  };
  return { tidemark, store, list, ids, every };
}

describe('filtered lists of objects', () => {
  it('[LIST-1] a filter finds objects by the operators of queries, by their ids, and by a text anywhere', async () => {
    const { ids } = await openWares();
    const finds = async (filter: unknown) => ids({ filter });
    expect(await finds({ name: 'Buoy' })).toEqual(['buoy']);
    expect(await finds({ price: { gte: 90 } })).toEqual(['anchor', 'dinghy']);
    expect(await finds({ price: { gt: 9.5, lt: 1_200 } })).toEqual(['anchor']);
    expect(await finds({ price: { lte: '12' } })).toEqual(['chart']);
    expect(await finds({ price: { ne: 90 } })).toEqual(['buoy', 'chart', 'dinghy', 'e.bell']);
    expect(await finds({ price: { in: [90, '12', 7] } })).toEqual(['anchor', 'chart']);
    expect(await finds({ name: { prefix: 'B' } })).toEqual(['buoy']);
    expect(await finds({ name: { prefix: 'b' } })).toEqual([]);
    expect(await finds({ name: { contains: 'CH' } })).toEqual(['anchor', 'chart']);
    expect(await finds({ stock: { exists: true } })).toEqual(['anchor', 'buoy']);
    expect(await finds({ note: { exists: true } })).toEqual(['chart']);
    expect(await finds({ note: null })).toEqual(['chart']);
    expect(await finds({ name: { exists: false } })).toEqual(['e.bell']);
    expect(await finds({ tags: { contains: 'iron' } })).toEqual(['anchor']);
    expect(await finds({ tags: ['iron'], stock: 2 })).toEqual(['anchor']);
    expect(await finds({ size: { eq: { cm: 40 } } })).toEqual(['buoy']);
    expect(await finds({ 'size.cm': { lt: 50 } })).toEqual(['buoy']);
    expect(await finds({ 'sea\\.name': 'Bell', '\\@id': 'x', '\\or': 1 })).toEqual(['e.bell']);
    expect(await finds({ '@id': { prefix: 'd' } })).toEqual(['dinghy']);
    expect(await finds({ '@seq': { gte: 4 } })).toEqual(['dinghy', 'e.bell']);
    expect(await finds({ '*': { contains: 'bel' } })).toEqual(['e.bell']);
    expect(await finds({ '*': { contains: '1200' }, isNew: true })).toEqual(['dinghy']);
    expect(await finds([{ name: { contains: 'a' } }, { name: { contains: 'r' } }])).toEqual(['anchor', 'chart']);
    expect(await finds({})).toEqual(Object.keys(WARES));
  });

  it('[LIST-2] numbers are sorted as numbers, texts as texts, null and missing values come last, and equal ones are sorted by id', async () => {
    const { ids } = await openWares();
    expect(await ids({ sort: 'price' })).toEqual(['buoy', 'anchor', 'dinghy', 'chart', 'e.bell']);
    expect(await ids({ sort: 'price', order: 'desc' })).toEqual(['chart', 'dinghy', 'anchor', 'buoy', 'e.bell']);
    expect(await ids({ sort: 'name' })).toEqual(['anchor', 'buoy', 'dinghy', 'chart', 'e.bell']);
    expect(await ids({ sort: 'note', order: 'desc' })).toEqual(Object.keys(WARES));
    expect(await ids({ sort: '@id', order: 'desc' })).toEqual(Object.keys(WARES).reverse());
    expect(await ids({ sort: '@seq', order: 'desc', limit: 2 })).toEqual(['e.bell', 'dinghy']);
    expect(await ids({ sort: 'size.cm', limit: 1 })).toEqual(['buoy']);
    expect(await ids({ sort: 'price', filter: { stock: { exists: true } } })).toEqual(['buoy', 'anchor']);
  });

  it('[LIST-2] texts are sorted by their first SORTED_TEXT_UNITS_MAX units, and those that begin alike by id', async () => {
    const alike = 'x'.repeat(SORTED_TEXT_UNITS_MAX);
    const { list, ids } = await openWares({
      a: { text: `${alike}2` },
      b: { text: `${alike}1` },
      c: { text: ['z', alike] },
    });
    expect(await ids({ sort: 'text' })).toEqual(['a', 'b', 'c']);
    const { next } = await list({ sort: 'text', limit: 1 });
    expect(JSON.parse(String(next))).toEqual([2, alike, 'a']);
  });

  it('[LIST-3] the pages of a list hold every object that matches exactly once, in order, whatever the page size', async () => {
    for (let seed = 0; seed < 3; seed++) {
      const rng = new Rng(seededRandom(seed));
      const values: readonly JsonValue[] = [
        1,
        2,
        10,
        -1,
        'a',
        'B',
        '',
        true,
        false,
        null,
        [1],
        { a: 1 },
        'x'.repeat(300),
      ];
      const objects = Object.fromEntries(
        Array.from({ length: 350 }, (_, index) => {
          const value = values[rng.below(values.length + 1)];
          return [`o${index}`, { n: index % 7, ...(value === undefined ? {} : { value }) }];
        }),
      );
      const { every, list } = await openWares(objects);
      const naive = Object.keys(objects).filter((id) => objects[id]?.n !== 3);
      for (const order of ['asc', 'desc'] as const) {
        const sorted = [...naive].sort((left, right) => naiveOrder(objects, left, right, order));
        const query = { filter: { n: { ne: 3 } }, sort: 'value', order };
        expect(await every({ ...query, limit: 1 + rng.below(200) })).toEqual(sorted);
        const { objects: rows, ...page } = await list({ ...query, limit: 1_000 });
        expect([rows.length, page]).toEqual([300, { size: 350, head: 350, next: null, matches: 300, read: 350 }]);
      }
      expect(await every({ filter: { n: { ne: 3 } }, limit: 1 + rng.below(200) })).toEqual(naive);
    }
  });

  it('[LIST-4] a malformed filter, order or cursor is refused with its place', async () => {
    const { tidemark, list } = await openWares();
    const refused = (query: ObjectPageCall) =>
      tidemark.documents.listObjects(PRODUCTS, query).then(
        () => null,
        ({ code, flaws }) => [code, ...flaws.map((flaw: { readonly pointer: string }) => flaw.pointer)],
      );
    const filter = (value: unknown) => refused({ filter: JSON.stringify(value) });
    expect(await refused({ filter: '{' })).toEqual(['invalid_value', '/filter']);
    for (const value of [[], [{}, 1], 'open', 7, null])
      expect(await filter(value)).toEqual(['invalid_value', '/filter']);
    expect(await filter({ or: [] })).toEqual(['invalid_value', '/filter/or']);
    expect(await filter({ a: {} })).toEqual(['invalid_value', '/filter/a']);
    expect(await filter({ a: { like: 1 } })).toEqual(['invalid_value', '/filter/a/like']);
    expect(await filter({ a: { toString: 1 } })).toEqual(['invalid_value', '/filter/a/toString']);
    for (const operator of ['lt', 'lte', 'gt', 'gte', 'in', 'prefix', 'contains', 'exists']) {
      expect(await filter({ a: { [operator]: null } })).toEqual(['invalid_value', `/filter/a/${operator}`]);
    }
    expect(await filter({ '*': { eq: 1 } })).toEqual(['invalid_value', '/filter/*/eq']);
    const conditions = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [index, 1]));
    expect(await filter(conditions(FILTER_CONDITIONS_MAX + 1))).toEqual(['invalid_value', '/filter']);
    expect((await list({ filter: conditions(FILTER_CONDITIONS_MAX) })).matches).toBe(0);
    for (const sort of ['', '*']) expect(await refused({ sort })).toEqual(['invalid_value', '/sort']);
    expect(await refused({ sort: 'a', order: 'up' })).toEqual(['invalid_value', '/order']);
    expect(await refused({ order: 'asc' })).toEqual(['invalid_value', '/order']);
    expect(await refused({ sort: 'a', from: 'anchor' })).toEqual(['invalid_value', '/from']);
    for (const after of ['7', 'x', '[]', '[9,1,"a"]', '[1,"1","a"]', '[4,{},"a"]', '[1,1]', '[1,1,"a",1]']) {
      expect(await refused({ sort: 'a', after })).toEqual(['invalid_value', '/after']);
    }
    expect(await refused({ filter: '{}', after: 'x' })).toEqual(['invalid_request', '/after']);
  });

  it('[LIST-5] a page without an order reads a bounded number of objects, and a list that is too large for an order is refused', async () => {
    const objects = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`o${index}`, { n: index }]));
    const { store, every, list } = await openWares(objects);
    const partition = sharedPartition('Product');
    const bounds = {
      ...{ readObjectsMax: 1_000, readUnitsMax: 1e9, sortedObjectsMax: 3_000, sortedBytesMax: 1e9 },
      newSlicesMax: 20,
    };
    const read = async (call: ObjectPageCall, changes: Partial<typeof bounds> = {}) => {
      const pace = { turn: async () => undefined };
      const ports = { store, limits: DEFAULT_LIMITS, pace, bounds: { ...bounds, ...changes } };
      return JSON.parse(await objectPage(ports, partition, call, () => false)) as ObjectList;
    };
    const filter = '{"n":{"gte":2500}}';
    const { objects: none, ...page } = await read({ filter });
    expect([none, page]).toEqual([[], { size: 3_000, head: 3_000, next: 1_000, matches: null, read: 1_000 }]);
    expect(await read({ filter }, { readUnitsMax: 1 })).toMatchObject({ next: 500, read: 500 });
    expect(await read({ filter, after: '2000', limit: 10 })).toMatchObject({ next: 2_510, read: 1_000, matches: null });
    // The first page counts what matches, later ones end when they are full.
    expect(await list({ filter: { n: { gte: 0 } }, limit: 1 })).toMatchObject({ next: 1, read: 3_000, matches: 3_000 });
    expect(await list({ filter: { n: { gte: 0 } }, limit: 1, after: '1' })).toMatchObject({ next: 2, read: 500 });
    expect(await every({ filter: { n: { gte: 2_990 } } })).toHaveLength(10);
    expect(await read({ sort: 'n', limit: 1 })).toMatchObject({ matches: 3_000, read: 3_000 });
    expect(await refusalOf(read({ sort: 'n' }, { sortedObjectsMax: 2_999 }))).toBe('limit_exceeded');
    expect(await refusalOf(read({ sort: 'n' }, { sortedBytesMax: 1_000 }))).toBe('limit_exceeded');
  });

  it('[PG-63] a filter that names ids reads these objects alone, in any order, page by page, and however many there are', async () => {
    const objects = Object.fromEntries(Array.from({ length: 700 }, (_, n) => [`o${n}`, { n, even: n % 2 === 0 }]));
    const { store, list, every } = await openWares(objects);
    let slices = 0;
    const readJournal = store.readJournal.bind(store);
    store.readJournal = (...call) => {
      slices++;
      return readJournal(...call);
    };
    const named = ['o5', 'o699', 'absent', 'o2'];
    expect(await list({ filter: { '@id': 'o3' } })).toMatchObject({
      objects: [{ id: 'o3' }],
      matches: 1,
      read: 1,
      next: null,
    });
    expect(await every({ filter: { '@id': { in: named } }, limit: 1 })).toEqual(['o2', 'o5', 'o699']);
    expect(await every({ filter: { '@id': { in: named }, even: true } })).toEqual(['o2']);
    expect(await every({ filter: { '@id': { in: named } }, sort: 'n', order: 'desc', limit: 2 })).toEqual([
      'o699',
      'o5',
      'o2',
    ]);
    expect(await every({ filter: [{ '@id': 'o5' }, { '@id': 'o2' }] })).toEqual([]);
    expect(await every({ filter: { '@id': { in: [5, null] } } })).toEqual([]);
    expect(await every({ filter: { '@id': { in: Object.keys(objects) } }, limit: 300 })).toEqual(Object.keys(objects));
    expect(slices).toBe(0);
    expect(await every({ filter: { '@id': { prefix: 'o69' } } })).toHaveLength(11);
    expect(slices).toBeGreaterThan(0);
  });

  it('[LIST-6] while objects change, a page holds none twice and none that does not match, and misses none that stays', async () => {
    for (let seed = 0; seed < 6; seed++) {
      const rng = new Rng(seededRandom(seed));
      const objects = Object.fromEntries(
        Array.from({ length: 2_000 }, (_, index) => [`o${index}`, { n: index, is: 1 }]),
      );
      const changed = new Set<string>();
      const change = async () => {
        const ids = Array.from({ length: 5 }, () => `o${rng.below(2_000)}`);
        for (const id of ids) changed.add(id);
        const [deleted = '', hidden = '', ...moved] = ids;
        await tidemark.objects.pushDeletes({ source: 'Product', objects: [deleted] });
        const patches = [[hidden, { is: 0 }], ...moved.map((id) => [id, { n: rng.below(2_000), is: 1 }])];
        await tidemark.objects.push({ source: 'Product', objects: Object.fromEntries(patches) });
      };
      const { tidemark } = await newTidemark({ pace: { turn: () => (isListing ? change() : Promise.resolve()) } });
      let isListing = false;
      await tidemark.objects.push({ source: 'Product', objects });
      isListing = true;
      const call = { filter: '{"is":1}', sort: 'n', order: 'desc', limit: 100 };
      const page = JSON.parse(await tidemark.documents.listObjects(PRODUCTS, call)) as ObjectList;
      const ids = page.objects.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(page.objects.filter(({ attributes }) => attributes.is !== 1)).toEqual([]);
      const last = Number((JSON.parse(String(page.next)) as readonly unknown[])[1]);
      const stayed = Object.keys(objects).filter((id) => !changed.has(id) && (objects[id]?.n ?? 0) >= last);
      expect(stayed.filter((id) => !ids.includes(id))).toEqual([]);
    }
  });

  it('[LIST-6] a list goes on behind rows that were found and then changed, also when none of the page is left', async () => {
    for (const order of [{}, { sort: 'n' }]) {
      const objects = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`o${n}`, { n, is: n < 10 ? 1 : 0 }]));
      let hide: (() => Promise<unknown>) | null = null;
      const { tidemark } = await newTidemark({
        pace: {
          turn: async () => {
            const now = hide;
            hide = null;
            await now?.();
          },
        },
      });
      await tidemark.objects.push({ source: 'Product', objects });
      const first = { o0: { is: 0 }, o1: { is: 0 } };
      hide = () => tidemark.objects.push({ source: 'Product', objects: first });
      const seen: string[] = [];
      for (let after: ObjectList['next'] | undefined, pages = 0; after !== null && pages < 1_000; pages++) {
        const call = {
          filter: '{"is":1}',
          ...order,
          limit: 2,
          ...(after === undefined ? {} : { after: String(after) }),
        };
        const page = JSON.parse(await tidemark.documents.listObjects(PRODUCTS, call)) as ObjectList;
        seen.push(...page.objects.map(({ id }) => id));
        after = page.next;
      }
      expect(seen).toEqual(Array.from({ length: 8 }, (_, index) => `o${index + 2}`));
    }
  });

  it('[LIST-6] a list in the order of the last change goes on with what is written while its page is made', async () => {
    const objects = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`o${n}`, { n, is: n < 500 ? 0 : 1 }]));
    let isListing = false;
    const big = 'x'.repeat(150_000);
    const { tidemark } = await newTidemark({
      pace: {
        turn: async () => {
          if (!isListing) return;
          isListing = false;
          for (let n = 0; n < 50; n++)
            await tidemark.objects.push({ source: 'Product', objects: { [`o${n}`]: { big } } });
          await tidemark.objects.push({ source: 'Product', objects: { o999: { n: -1 } } });
        },
      },
    });
    await tidemark.objects.push({ source: 'Product', objects });
    isListing = true;
    const seen = new Set<string>();
    for (let after: ObjectList['next'] | undefined, pages = 0; after !== null && pages < 100; pages++) {
      const call = { filter: '{"is":1}', limit: 1_000, ...(after === undefined ? {} : { after: String(after) }) };
      const page = JSON.parse(await tidemark.documents.listObjects(PRODUCTS, call)) as ObjectList;
      for (const { id } of page.objects) seen.add(id);
      after = page.next;
    }
    expect(seen.size).toBe(500);
  });

  it('[LIST-11] a sorted list holds an object that moves while much is written, also far behind what it has read', async () => {
    const objects = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`o${n}`, { n, is: n < 500 ? 0 : 1 }]));
    const big = 'x'.repeat(150_000);
    let isListing = false;
    const { tidemark } = await newTidemark({
      pace: {
        turn: async () => {
          if (!isListing) return;
          isListing = false;
          for (let n = 0; n < 60; n++)
            await tidemark.objects.push({ source: 'Product', objects: { [`o${n}`]: { big } } });
          await tidemark.objects.push({ source: 'Product', objects: { o999: { n: -1 } } });
        },
      },
    });
    await tidemark.objects.push({ source: 'Product', objects });
    isListing = true;
    const call = { filter: '{"is":1}', sort: 'n', limit: 1_000 };
    const page = JSON.parse(await tidemark.documents.listObjects(PRODUCTS, call)) as ObjectList;
    expect([page.objects.length, page.objects[0]?.id, page.matches]).toEqual([500, 'o999', 500]);
  });

  it('[LIST-11] a sorted list is refused when objects change faster than they are read', async () => {
    const { store, tidemark } = await openWares(
      Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [n, { n }])),
    );
    const big = 'x'.repeat(150_000);
    let pushes = 0;
    const turn = async () => {
      for (const id of ['a', 'b']) {
        await tidemark.objects.push({ source: 'Product', objects: { [`${id}${++pushes}`]: { big } } });
      }
    };
    const bounds = { readObjectsMax: 1e6, readUnitsMax: 1e9, sortedObjectsMax: 1e6, sortedBytesMax: 1e9 };
    const ports = { store, limits: DEFAULT_LIMITS, pace: { turn }, bounds: { ...bounds, newSlicesMax: 5 } };
    const partition = sharedPartition('Product');
    expect(await refusalOf(objectPage(ports, partition, { sort: 'n' }, () => false))).toBe('overloaded');
    expect(pushes).toBeLessThan(20);
    // A list in the order of the last change can end anywhere.
    const unsorted = { ...ports, bounds: { ...ports.bounds, readObjectsMax: 1_000 + pushes + 10 } };
    const page = JSON.parse(await objectPage(unsorted, partition, { filter: '{"n":0}' }, () => false)) as ObjectList;
    expect(page).toMatchObject({ objects: [{ id: '0' }], next: expect.any(Number), matches: null });
  });

  it('[LIST-6] a list whose data is replaced while it is read starts over, and holds nothing of before', async () => {
    const objects = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`o${index}`, { n: index }]));
    let replace: (() => Promise<void>) | null = null;
    const turn = async () => {
      const now = replace;
      replace = null;
      await now?.();
    };
    const { tidemark } = await newTidemark({ pace: { turn } });
    await tidemark.objects.push({ source: 'Product', objects });
    replace = async () => {
      await tidemark.sources.drop('Product');
      await tidemark.sources.declare({ name: 'Product', partition_type: 'app' });
      await tidemark.objects.push({ source: 'Product', objects: { o0: { n: 7 }, new: { n: 8 } } });
    };
    const { objects: rows, ...page } = JSON.parse(
      await tidemark.documents.listObjects(PRODUCTS, { sort: 'n', limit: 2 }),
    ) as ObjectList;
    expect(rows.map(({ id }) => id)).toEqual(['o0', 'new']);
    expect(page).toEqual({ size: 2, head: 2, next: null, matches: 2, read: 2 });
  });

  it('[LIST-7] a list pauses after each slice of bounded size, and ends when nobody waits for it', async () => {
    const objects = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`o${index}`, { n: index }]));
    let pauses = 0;
    const { tidemark } = await newTidemark({ pace: { turn: async () => void pauses++ } });
    await tidemark.objects.push({ source: 'Product', objects });
    pauses = 0;
    await tidemark.documents.listObjects(PRODUCTS, { sort: 'n', limit: 1 });
    // Five between six slices of 500 objects, and one after the rows were read.
    expect(pauses).toBe(6);
    const answer = await tidemark.documents.listObjects(PRODUCTS, { sort: 'n' }, () => true);
    expect(JSON.parse(answer)).toMatchObject({ read: 500, matches: null });
  });

  it('[LIST-9] the text of a page is bounded, and the rows that do not fit follow on the next one', async () => {
    const objects = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`o${n}`, { n, text: 'x'.repeat(1_000) }]));
    const { tidemark } = await newTidemark({ limits: { pageUnitsMax: 10_500 } });
    await tidemark.objects.push({ source: 'Product', objects });
    const seen: number[] = [];
    for (let after: ObjectList['next'] | undefined; after !== null; ) {
      const call = { sort: 'n', order: 'desc', ...(after === undefined ? {} : { after: String(after) }) };
      const page = JSON.parse(await tidemark.documents.listObjects(PRODUCTS, call)) as ObjectList;
      expect(page.objects.length).toBeLessThanOrEqual(10);
      seen.push(...page.objects.map(({ attributes }) => attributes.n as number));
      after = page.next;
    }
    expect(seen).toEqual(Array.from({ length: 50 }, (_, index) => 49 - index));
  });
});

/** The order of two objects by `value`, made independently of the code under test. */
function naiveOrder(objects: Objects, left: string, right: string, direction: 'asc' | 'desc'): number {
  const [one, other] = [objects[left]?.value, objects[right]?.value];
  const isLast = (value: JsonValue | undefined) => value === undefined || value === null;
  if (isLast(one) !== isLast(other)) return isLast(one) ? 1 : -1;
  const rank = (value: JsonValue | undefined) => ['boolean', 'number', 'string', 'object'].indexOf(typeof value);
  const text = (value: JsonValue | undefined) =>
    typeof value === 'string' ? value.slice(0, 256) : JSON.stringify(value);
  const order =
    rank(one) - rank(other) || (typeof one === 'number' ? one - Number(other) : naiveText(text(one), text(other)));
  if (!isLast(one) && order !== 0) return direction === 'asc' ? order : -order;
  return left < right ? -1 : 1;
}

function naiveText(left: string, right: string): number {
  return left === right ? 0 : left < right ? -1 : 1;
}
