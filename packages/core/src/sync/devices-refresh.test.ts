import type { Page } from '@tidemark/protocol';
import { REFRESH_RETRY_AFTER_S, Refusal } from '@tidemark/protocol';
import { newTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { pageJson } from '../pages/render-page.ts';
import type { Adapter, ObjectsAnswer } from '../ports/adapter.ts';

async function setUp() {
  let queries = 0;
  let answer: () => Promise<ObjectsAnswer> = async () => ({ objects: { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } } });
  const nothing = async () => undefined;
  const query = () => {
    queries++;
    return answer();
  };
  const adapter: Adapter = { query, create: async () => '1', update: nothing, delete: nothing, search: () => answer() };
  const { tidemark, clock } = await newTidemark({ adapters: { find: () => adapter } });
  await tidemark.sources.declare({ name: 'Stock', partition_type: 'app', adapter: 'backend', poll_interval: 0 });
  const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
  const pull = async (token: string | null, objectsMax = 500): Promise<Page> => {
    const { pages } = await tidemark.devices.pull(device, { sources: new Map([['Stock', token]]), objectsMax });
    const page = pages[0]?.page;
    if (page === undefined || 'error' in page) throw new Error('no page');
    return JSON.parse(pageJson(page.token, page.body)) as Page;
  };
  const newAnswer = (next: typeof answer) => {
    answer = next;
  };
  return { tidemark, clock, device, pull, newAnswer, queries: () => queries };
}

it('[FRESH-11] a pull refreshes a partition that is due, but not for a device in the middle of its pages', async () => {
  const { pull, queries } = await setUp();
  const first = await pull(null, 2);
  expect([Object.keys(first.put ?? {}), first.more, queries()]).toEqual([['a', 'b'], true, 1]);
  const second = await pull(first.token, 2);
  expect([Object.keys(second.put ?? {}), second.more, queries()]).toEqual([['c'], false, 1]);
  expect((await pull(second.token)).put).toBeUndefined();
  expect(queries()).toBe(2);
});

it('[FRESH-11] 200 devices of one shared source that pull at once cause one query', async () => {
  const { tidemark, queries } = await setUp();
  const devices: { user: string; client: string }[] = [];
  for (let index = 0; index < 200; index++) {
    const user = index % 2 === 0 ? 'ada' : 'bob';
    devices.push({ user, client: (await tidemark.clients.register(user, {})).client_id });
  }
  const sources = new Map([['Stock', null]]);
  const pulls = await Promise.all(devices.map((device) => tidemark.devices.pull(device, { sources })));
  expect(queries()).toBe(1);
  const texts = pulls.map(({ pages }) =>
    pages.map(({ page }) => ('error' in page ? 'error' : pageJson('', page.body))),
  );
  expect(new Set(texts.flat()).size).toBe(1);
});

it('[FRESH-12] when the backend fails, the page has the stored objects and the error', async () => {
  const { pull, newAnswer, clock } = await setUp();
  const { token } = await pull(null);
  newAnswer(() => Promise.reject(new Refusal('backend_timeout', 'too slow')));
  const error = { code: 'backend_timeout', detail: 'too slow' };
  expect(await pull(token)).toEqual({ token, more: false, size: 3, checksum: expect.any(Number), error });
  expect(await pull(null)).toMatchObject({ reset: true, put: { a: { n: 1 } }, error });
  newAnswer(async () => ({ objects: { a: { n: 1 } } }));
  clock.advance(300_000);
  const next = await pull(token);
  expect([next.delete, next.error]).toEqual([['b', 'c'], undefined]);
});

describe('a backend that is slower than a pull waits', () => {
  /** The test decides when the backend of `Stock` answers and when the wait of a pull ends. */
  async function slow() {
    const answers: ((objects: unknown) => void)[] = [];
    const waits: (() => void)[] = [];
    const nothing = async () => undefined;
    const query = () =>
      new Promise<ObjectsAnswer>((resolve) => {
        answers.push((objects) => resolve({ objects }));
      });
    const adapter: Adapter = { query, create: async () => '1', update: nothing, delete: nothing };
    const { tidemark, clock } = await newTidemark({
      adapters: { find: () => adapter },
      pullWaitMs: 2_000,
      wait: () => new Promise((resolve) => waits.push(resolve)),
    });
    await tidemark.sources.declare({ name: 'Stock', partition_type: 'app', adapter: 'backend', poll_interval: 0 });
    await tidemark.objects.push({ source: 'Stock', objects: { old: { n: 1 } } });
    await tidemark.objects.push({ source: 'Product', objects: { p: { n: 1 } } });
    const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
    const commits: string[] = [];
    tidemark.events.on('committed', ({ partition, cause }) => commits.push(`${partition.source} ${cause}`));
    const sources = new Map([
      ['Stock', null],
      ['Product', null],
    ]);
    const pull = async () => {
      const { pages } = await tidemark.devices.pull(device, { sources });
      return pages.map(({ page }) => {
        if ('error' in page) throw new Error('no page');
        return JSON.parse(pageJson(page.token, page.body)) as Page;
      });
    };
    const reached = async (list: readonly unknown[], count: number) => {
      for (let turn = 0; list.length < count && turn < 10_000; turn++) await new Promise(setImmediate);
      expect(list).toHaveLength(count);
    };
    return { tidemark, clock, device, commits, pull, answers, waits, reached };
  }

  const error = { code: 'refresh_pending', detail: expect.any(String), retry_after_s: REFRESH_RETRY_AFTER_S };

  it('[FRESH-14] a slow backend delays neither other sources nor stored objects, and later pulls do not wait at all', async () => {
    const { pull, answers, waits, reached } = await slow();
    const first = pull();
    await reached(answers, 1);
    await reached(waits, 1);
    waits[0]?.();
    const [stock, product] = await first;
    expect(stock).toMatchObject({ put: { old: { n: 1 } }, more: false, error });
    expect([product?.put, product?.error]).toEqual([{ p: { n: 1 } }, undefined]);
    for (let time = 0; time < 20; time++) expect((await pull())[0]).toMatchObject({ error });
    expect([answers.length, waits.length]).toEqual([1, 1]);
    answers[0]?.({});
  });

  it('[FRESH-14] a snapshot of a slow backend begins with the stored objects and the error', async () => {
    const { tidemark, device, answers, waits, reached } = await slow();
    const begun = tidemark.devices.snapshot(device, { source: 'Stock', token: null });
    await reached(waits, 1);
    waits[0]?.();
    const { value } = await (await begun).next();
    const [line] = (value ?? []).map(({ token, body }) => JSON.parse(pageJson(token, body)));
    expect(line).toMatchObject({ put: { old: { n: 1 } }, error });
    await reached(answers, 1);
    answers[0]?.({});
  });

  it.each([
    ['what is new', { fresh: { n: 2 } }, ['Stock refresh', 'Stock late_refresh'], undefined],
    ['nothing new', { old: { n: 1 } }, ['Stock late_refresh'], undefined],
    ['no objects', 'nonsense', ['Stock late_refresh'], { code: 'backend_error', detail: expect.any(String) }],
  ])(
    '[FRESH-15] when a slow backend has answered with %s, the device is notified, and its next pull causes no query',
    async (_, objects, events, trouble) => {
      const { tidemark, pull, answers, waits, commits, reached } = await slow();
      const first = pull();
      await reached(waits, 1);
      waits[0]?.();
      await first;
      commits.length = 0;
      await reached(answers, 1);
      answers[0]?.(objects);
      await reached(commits, events.length);
      expect(commits).toEqual(events);
      const [stock] = await pull();
      expect(stock?.error).toEqual(trouble);
      const stored = Object.fromEntries(await tidemark.objects.read({ source: 'Stock' }));
      expect(stock?.put).toEqual(stored);
      expect(answers).toHaveLength(1);
    },
  );

  it('[FRESH-15] a refresh that ended within the wait is announced by its commit only, and is due again at once', async () => {
    const { pull, answers, commits, reached } = await slow();
    const first = pull();
    await reached(answers, 1);
    answers[0]?.({ old: { n: 1 } });
    expect((await first)[0]?.error).toBeUndefined();
    const second = pull();
    await reached(answers, 2);
    answers[1]?.({ fresh: { n: 2 } });
    expect((await second)[0]?.put).toEqual({ fresh: { n: 2 } });
    expect(commits).toEqual(['Stock refresh']);
  });
});

it('[SEARCH-1] a search asks the adapter, stores nothing, and is refused without an adapter that can search', async () => {
  const { tidemark, newAnswer } = await setUp();
  const call = { source: 'Stock', user_id: 'ada', params: { q: 'x' } };
  newAnswer(async () => ({ objects: { z: { n: [1, { b: 1, a: 2 }] } } }));
  expect(await tidemark.search(call)).toBe('{"z":{"n":[1,{"a":2,"b":1}]}}');
  newAnswer(async () => ({
    chunks: (async function* () {
      yield '{"y":{}, "z":{"n":';
      yield '1}}';
    })(),
  }));
  expect(JSON.parse(await tidemark.search(call))).toEqual({ y: {}, z: { n: 1 } });
  expect((await tidemark.objects.partition({ source: 'Stock' })).head).toBe(0);
  for (const bad of [[], { z: 7 }, { z: { n: Number.NaN } }]) {
    newAnswer(async () => ({ objects: bad }));
    await expect(tidemark.search(call)).rejects.toMatchObject({ code: 'backend_error' });
  }
  newAnswer(() => Promise.reject(new Error('secret')));
  await expect(tidemark.search(call)).rejects.toMatchObject({ message: 'the adapter of the source failed' });
  await expect(tidemark.search({ ...call, source: 'Product' })).rejects.toMatchObject({ code: 'search_not_available' });
  expect((await tidemark.devices.sources()).map(({ name, searchable }) => [name, searchable])).toEqual([
    ['Order', false],
    ['Product', false],
    ['Stock', true],
  ]);
});
