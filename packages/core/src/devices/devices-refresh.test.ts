import type { Page } from '@tidemark/protocol';
import { Refusal } from '@tidemark/protocol';
import { newTidemark } from '@tidemark/testing';
import { expect, it } from 'vitest';
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

it('[FRESH-11] a pull refreshes what is due first; a device half-way through its pages is not made to wait again', async () => {
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

it('[FRESH-12] when the backend fails, the page has what is there, and the error beside it', async () => {
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

it('[SEARCH-1] a search asks the adapter, keeps nothing, and is refused where there is none that can', async () => {
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
  expect((await tidemark.partition({ source: 'Stock' })).head).toBe(0);
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
