import type { Page } from '@tidemark/protocol';
import { newTidemark, pullPage, refusalOf, type TestTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { userPartition } from '../ports/owner.ts';

const ada = { source: 'Order', user_id: 'ada' };
const PHONE = { user: 'ada', client: 'phone' };
const TABLET = { user: 'bob', client: 'tablet' };

/** Returns a Tidemark with a device of each user. */
async function newTest(options: Parameters<typeof newTidemark>[0] = {}): Promise<TestTidemark> {
  const test = await newTidemark(options);
  for (const { user, client } of [PHONE, TABLET]) await test.tidemark.clients.register(user, { client_id: client });
  return test;
}

async function page(
  { tidemark }: TestTidemark,
  token: string | null,
  objectsMax = 100,
  unitsMax?: number,
): Promise<Page> {
  const bounds = unitsMax === undefined ? { objectsMax } : { objectsMax, unitsMax };
  const { json } = await pullPage(tidemark, PHONE, { source: 'Order', token, ...bounds });
  return JSON.parse(json) as Page;
}

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`o${index}`, { n: index }]));

describe('pages', () => {
  it('[PAGE-4] a first page says reset and ends with size and checksum', async () => {
    const test = await newTest();
    const empty = await page(test, null);
    expect(empty).toEqual({ token: expect.any(String), more: false, reset: true, size: 0, checksum: 0 });
    await test.tidemark.objects.push({ ...ada, objects: { 1: { a: 1 } } });
    const { checksum } = await test.tidemark.objects.partition(ada);
    const full = { token: expect.any(String), more: false, reset: true, put: { 1: { a: 1 } }, size: 1, checksum };
    expect(await page(test, empty.token)).toEqual(full);
    expect(await page(test, null)).toEqual(full);
  });

  it('[PAGE-5] when nothing changed, the page is empty and the token the same', async () => {
    const test = await newTest();
    await test.tidemark.objects.push({ ...ada, objects: many(3) });
    const { token } = await page(test, null);
    const { checksum } = await test.tidemark.objects.partition(ada);
    expect(await page(test, token)).toEqual({ token, more: false, size: 3, checksum });
  });

  it('[PAGE-6] a page has changes by attribute: put, patch, drop and delete', async () => {
    const test = await newTest();
    await test.tidemark.objects.push({
      ...ada,
      objects: { 1: { a: 1, b: 1 }, 2: { a: 1, b: 1 }, 3: { a: 1 }, 4: { a: 1 } },
    });
    const { token } = await page(test, null);
    await test.tidemark.objects.push({ ...ada, objects: { 1: { b: 2 }, 5: { a: 5 } } });
    await test.tidemark.objects.fastUpdate({ ...ada, delete_data: { 2: { a: 1 } }, data: { 2: { c: 3 } } });
    await test.tidemark.objects.pushDeletes({ ...ada, objects: ['3'] });
    await test.tidemark.objects.fastInsert({ ...ada, objects: { 4: { z: 1 } } });
    expect(await page(test, token)).toMatchObject({
      more: false,
      delete: ['3'],
      put: { 4: { z: 1 }, 5: { a: 5 } },
      patch: { 1: { b: 2 }, 2: { c: 3 } },
      drop: { 2: ['a'] },
      size: 4,
    });
  });

  it.each([0, 1, 4, 5, 6, 11])(
    '[PAGE-7] %i objects arrive completely in pages of at most 5, with the checksum on the last page',
    async (count) => {
      const test = await newTest();
      await test.tidemark.objects.push({ ...ada, objects: many(count) });
      const held: Record<string, unknown> = {};
      let token: string | null = null;
      let pages = 0;
      for (let more = true; more; pages++) {
        const next: Page = await page(test, token, 5);
        expect(Object.keys(next.put ?? {}).length).toBeLessThanOrEqual(5);
        expect([next.reset ?? false, next.size, 'checksum' in next]).toEqual([pages === 0, count, !next.more]);
        Object.assign(held, next.put);
        ({ token, more } = next);
      }
      expect(held).toEqual(many(count));
      expect(pages).toBe(Math.max(1, Math.ceil(count / 5)));
    },
  );

  it('[PAGE-8] a page is bounded in text, too, but has at least one object', async () => {
    const test = await newTest();
    await test.tidemark.objects.push({ ...ada, objects: { 1: { t: 'x'.repeat(500) }, 2: { t: 'y' }, 3: { t: 'z' } } });
    const first = await page(test, null, 100, 50);
    expect([Object.keys(first.put ?? {}), first.more]).toEqual([['1'], true]);
    const second = await page(test, first.token, 100, 50);
    expect([Object.keys(second.put ?? {}), second.more]).toEqual([['2', '3'], false]);
  });

  it('[PAGE-8] a page of changes is bounded by what is sent, not by the length of the stored objects', async () => {
    const test = await newTest();
    const large = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`o${n}`, { n, t: 'x'.repeat(500) }]));
    await test.tidemark.objects.push({ ...ada, objects: large });
    const { token } = await page(test, null);
    const changed = Object.fromEntries(Object.keys(large).map((id) => [id, { n: `new ${id}` }]));
    await test.tidemark.objects.push({ ...ada, objects: changed });
    await test.tidemark.objects.pushDeletes({ ...ada, objects: ['o3'] });
    await test.tidemark.objects.fastDelete({ ...ada, data: { o4: { n: 'new o4' } } });
    const { o3: _, o4: __, ...patch } = changed;
    const only = await page(test, token, 100, 2_000);
    expect(only).toMatchObject({ more: false, delete: ['o3'], drop: { o4: ['n'] }, size: 19 });
    expect(only.patch).toEqual(patch);
    const { checksum } = await test.tidemark.objects.partition(ada);
    expect(only.checksum).toBe(checksum);
  });

  it('[PAGE-8] a page of changes that was read in several steps stays within its bounds', async () => {
    const test = await newTest();
    const large = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`o${n}`, { n, t: 'x'.repeat(90) }]));
    await test.tidemark.objects.push({ ...ada, objects: large });
    let { token } = await page(test, null);
    await test.tidemark.objects.push({ ...ada, objects: many(40) });
    const changed = Object.fromEntries(Object.keys(large).map((id) => [id, { n: `new ${id}` }]));
    await test.tidemark.objects.push({ ...ada, objects: changed });
    const seen: string[] = [];
    for (let more = true; more; ) {
      const next = await page(test, token, 7, 400);
      const ids = Object.keys(next.patch ?? {});
      expect(ids.length).toBeLessThanOrEqual(7);
      expect(JSON.stringify(next.patch).length).toBeLessThanOrEqual(400);
      seen.push(...ids);
      ({ token, more } = next);
    }
    expect(seen).toEqual(Object.keys(large));
  });

  it('[PAGE-8] a page ends where it is when the partition changes between two reads', async () => {
    const test = await newTest();
    const large = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`o${n}`, { n, t: 'x'.repeat(500) }]));
    await test.tidemark.objects.push({ ...ada, objects: large });
    const { token } = await page(test, null);
    const changed = Object.fromEntries(Object.keys(large).map((id) => [id, { n: `new ${id}` }]));
    await test.tidemark.objects.push({ ...ada, objects: changed });
    const { readJournal } = test.store;
    test.store.readJournal = async (...call) => {
      test.store.readJournal = readJournal;
      const slice = await readJournal.apply(test.store, call);
      await test.tidemark.objects.pushDeletes({ ...ada, objects: ['o0', 'o5'] });
      return slice;
    };
    const first = await page(test, token, 100, 1_200);
    expect([Object.keys(first.patch ?? {}), first.delete, first.more]).toEqual([['o0', 'o1'], undefined, true]);
    const rest = await page(test, first.token);
    expect([Object.keys(rest.patch ?? {}), rest.delete]).toEqual([
      ['o2', 'o3', 'o4'],
      ['o0', 'o5'],
    ]);
  });

  it('[PAGE-9] differences are computed against the last complete catch-up, not against the last page', async () => {
    const test = await newTest();
    await test.tidemark.objects.push({ ...ada, objects: { moved: { a: 1, b: 1 } } });
    const caughtUp = await page(test, null);
    await test.tidemark.objects.push({ ...ada, objects: { moved: { a: 2 } } });
    await test.tidemark.objects.push({ ...ada, objects: { other: { a: 1 }, another: { a: 1 } } });
    // Before the device reaches "moved", the object changes again and moves behind the others.
    const between = await page(test, caughtUp.token, 1);
    expect(between.patch).toEqual({ moved: { a: 2 } });
    await test.tidemark.objects.push({ ...ada, objects: { moved: { b: 2 } } });
    const rest = await page(test, between.token, 10);
    expect(rest.patch).toEqual({ moved: { a: 2, b: 2 } });
    // A device that starts over has no base, so objects are sent whole.
    const start = await page(test, null, 1);
    await test.tidemark.objects.push({ ...ada, objects: { moved: { a: 3 } } });
    expect((await page(test, start.token, 10)).put).toMatchObject({ moved: { a: 3, b: 2 } });
  });

  it('[PAGE-10] a device that starts over gets live objects only, and the deletions made since', async () => {
    const test = await newTest();
    await test.tidemark.objects.push({ ...ada, objects: many(6) });
    await test.tidemark.objects.pushDeletes({ ...ada, objects: ['o0', 'o1'] });
    const first = await page(test, null, 2);
    expect([first.put, first.delete]).toEqual([{ o2: { n: 2 }, o3: { n: 3 } }, undefined]);
    await test.tidemark.objects.pushDeletes({ ...ada, objects: ['o2'] });
    const rest = await page(test, first.token, 10);
    expect([rest.put, rest.delete, rest.more]).toEqual([{ o4: { n: 4 }, o5: { n: 5 } }, ['o2'], false]);
  });

  it('[PAGE-11] with a base below the floor objects are sent whole, and with a seq below the floor a device starts over', async () => {
    const test = await newTest();
    await test.tidemark.objects.push({ ...ada, objects: { 1: { a: 1, b: 1 }, 2: { a: 1 }, 3: { a: 1 } } });
    const { token } = await page(test, null);
    await test.tidemark.objects.fastDelete({ ...ada, data: { 1: { b: 1 } } });
    await test.tidemark.objects.pushDeletes({ ...ada, objects: ['2'] });
    await test.tidemark.objects.push({ ...ada, objects: { 3: { a: 2 } } });
    const half = await page(test, token, 2);
    expect([half.drop, half.delete, half.more]).toEqual([{ 1: ['b'] }, ['2'], true]);
    await test.store.trim(userPartition('Order', 'ada'), 5);
    expect(await page(test, half.token)).toMatchObject({ put: { 3: { a: 2 } }, more: false });
    expect(await page(test, token)).toMatchObject({ reset: true, put: { 1: { a: 1 }, 3: { a: 2 } } });
  });

  it('[PAGE-11] a base one below the floor is below the floor: what changed at the floor is sent with the whole object', async () => {
    const test = await newTest();
    await test.tidemark.objects.push({ ...ada, objects: { x: { a: 1, b: 1 } } });
    const { token } = await page(test, null);
    await test.tidemark.objects.push({ ...ada, objects: { x: { a: 2 } } });
    await test.tidemark.objects.push({ ...ada, objects: { y: { n: 1 } } });
    await test.tidemark.objects.push({ ...ada, objects: { x: { b: 2 } } });
    const half = await page(test, token, 1);
    expect([half.put, half.more]).toEqual([{ y: { n: 1 } }, true]);
    await test.store.trim(userPartition('Order', 'ada'), 2);
    // The mark of the change at seq 2 is forgotten when the object changes again.
    await test.tidemark.objects.push({ ...ada, objects: { x: { b: 3 } } });
    expect(await page(test, half.token)).toMatchObject({ more: false, put: { x: { a: 2, b: 3 } } });
  });

  it('[PAGE-12] a token of another partition, or one that was tampered with, starts over', async () => {
    const test = await newTest();
    await test.tidemark.objects.push({ ...ada, objects: { 1: { a: 1 } } });
    await test.tidemark.objects.push({ source: 'Order', user_id: 'bob', objects: { 2: { b: 1 } } });
    const { json } = await pullPage(test.tidemark, TABLET, { source: 'Order', token: null });
    const { token } = JSON.parse(json) as Page;
    for (const foreign of [token, `${token}x`, 'x', '', token.toUpperCase(), token.slice(1)]) {
      expect(await page(test, foreign)).toMatchObject({ reset: true, put: { 1: { a: 1 } }, size: 1 });
    }
  });

  it('[PAGE-13] a page size must be a whole number from 1, and is capped', async () => {
    const test = await newTest({ limits: { pageObjectsMax: 4 } });
    await test.tidemark.objects.push({ ...ada, objects: many(9) });
    expect(Object.keys((await page(test, null, 1_000)).put ?? {}).length).toBe(4);
    for (const objectsMax of [0, -1, 1.5, Number.NaN]) {
      expect(await refusalOf(page(test, null, objectsMax))).toBe('invalid_value');
    }
  });

  it('[NAME-6] unusual names and values reach the device unchanged', async () => {
    const test = await newTest();
    const names = [
      'constructor',
      'toString',
      'hasOwnProperty',
      'id',
      'a:b',
      '*a*',
      '/',
      ' ',
      '😀',
      'quote"',
      'back\\slash',
      'ünï',
    ];
    const object = Object.fromEntries(names.map((name) => [name, { [name]: [name, null, 1.5] }]));
    const objects = Object.fromEntries(names.map((name) => [name, object]));
    await test.tidemark.objects.push({ ...ada, objects });
    const first = await page(test, null);
    expect(first.put).toEqual(objects);
    const patch = Object.fromEntries(names.map((name) => [name, { [name]: 'new' }]));
    await test.tidemark.objects.push({ ...ada, objects: patch });
    await test.tidemark.objects.fastDelete({
      ...ada,
      data: { constructor: { toString: { toString: ['toString', null, 1.5] } } },
    });
    const next = await page(test, first.token);
    expect(next.patch).toEqual(patch);
    expect(next.drop).toEqual({ constructor: ['toString'] });
  });
});

describe('tidemarks', () => {
  it('[TIDE-1] the tidemark of a device is recorded, and a pull without news writes nothing', async () => {
    const test = await newTest();
    const { tidemark, store, clock } = test;
    const { client } = PHONE;
    const partition = userPartition('Order', 'ada');
    await tidemark.objects.push({ ...ada, objects: many(5) });
    const pull = async (token: string | null, objectsMax = 2) => {
      const { json, noted } = await pullPage(tidemark, PHONE, { source: 'Order', token, objectsMax });
      await noted;
      return JSON.parse(json) as Page;
    };
    const first = await pull(null);
    expect(await store.readTidemark(partition, client)).toMatchObject({ seq: 0, base: null, start: 5 });
    // Progress is recorded once a second. Going back, the end of a start over and its confirmation are recorded at once.
    clock.advance(999);
    await pull(first.token);
    expect(await store.readTidemark(partition, client)).toMatchObject({ seq: 0, base: null, start: 5 });
    clock.advance(1);
    const second = await pull(first.token);
    expect(await store.readTidemark(partition, client)).toMatchObject({ seq: 2, base: null, start: 5 });
    await pull(null);
    expect(await store.readTidemark(partition, client)).toMatchObject({ seq: 0, base: null, start: 5 });
    const third = await pull(second.token);
    expect(await store.readTidemark(partition, client)).toMatchObject({ seq: 4, base: null, start: 5, sent: 5 });
    await pull(third.token);
    const atRest = await store.readTidemark(partition, client);
    expect(atRest).toEqual({
      client,
      epoch: expect.any(String),
      seq: 5,
      base: 5,
      start: null,
      seenAtMs: clock.nowMs(),
    });
    clock.advance(60_000);
    await pull(third.token);
    expect(await store.readTidemark(partition, client)).toEqual(atRest);
    clock.advance(3_600_000);
    await pull(third.token);
    expect(await store.readTidemark(partition, client)).toEqual({ ...atRest, seenAtMs: clock.nowMs() });
  });

  it('[TRIM-4] tombstones are kept while a recently seen device may need them', async () => {
    const test = await newTest();
    const { tidemark, clock } = test;
    const pull = async (held: string | null) => {
      const { json, noted } = await pullPage(tidemark, PHONE, { source: 'Order', token: held });
      await noted;
      return JSON.parse(json) as Page;
    };
    await tidemark.objects.push({ ...ada, objects: many(3) });
    const { token } = await pull(null);
    await pull(token);
    await tidemark.objects.pushDeletes({ ...ada, objects: ['o0', 'o1'] });
    expect((await tidemark.objects.trim(ada)).floor).toBe(3);
    const next = await pull(token);
    expect(next.delete).toEqual(['o0', 'o1']);
    await pull(next.token);
    expect((await tidemark.objects.trim(ada)).floor).toBe(5);
    await tidemark.objects.pushDeletes({ ...ada, objects: ['o2'] });
    clock.advance(31 * 24 * 3_600_000);
    expect((await tidemark.objects.trim(ada)).floor).toBe(6);
    expect(await pull(next.token)).toMatchObject({ reset: true, size: 0 });
  });
});
