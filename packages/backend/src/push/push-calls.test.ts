import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ServerProcess, startServerProcess, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { TidemarkClient } from '../client/tidemark-client.ts';
import { systemPlatform } from '../platform.ts';
import type { PushProgress } from '../transport/tidemark-error.ts';
import type { Attributes, ObjectEntry } from './objects.ts';
import { idsFromJson, objectsFromJson, objectsFromNdjson } from './read-objects.ts';

let server: ServerProcess;
let tidemark: TidemarkClient;
let folder: TemporaryFolder;
/** Bodies as they leave. */
let sent: string[];
/** Instead of sending the n-th push, counted from one. */
let lose: ReadonlySet<number>;

beforeAll(async () => {
  server = await startServerProcess();
  const fetch: typeof systemPlatform.fetch = async (url, init) => {
    const isPush = url.includes('/app/v1/');
    if (isPush) sent.push(String(init.body));
    const response = await systemPlatform.fetch(url, init);
    if (isPush && lose.has(sent.length)) throw new Error('the answer is lost');
    return response;
  };
  const { url, adminPassword: password } = server;
  tidemark = await TidemarkClient.logIn({
    url,
    login: 'admin',
    password,
    retry: { firstPauseMsMax: 1 },
    platform: { fetch },
  });
  await tidemark.users.create({ login: 'ada', password: 'x' });
});

afterAll(() => server.stop());

beforeEach(async () => {
  [sent, lose] = [[], new Set()];
  folder = await temporaryFolder();
  await tidemark.sources.declare({ name: 'Product', partition_type: 'app' });
  await tidemark.sources.declare({ name: 'Order' });
});

afterEach(async () => {
  await tidemark.sources.drop('Product');
  await tidemark.sources.drop('Order');
  await folder.remove();
});

const md = () => tidemark.documents.read({ source: 'Product', shared: true }, 'md');

function products(count: number): Record<string, Attributes> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, { name: `Product ${n}`, price: n }]));
}

it('[BSDK-6] all five kinds of push do what the server says they do', async () => {
  const { push, documents } = tidemark;
  const options = { user: 'ada' };
  expect(await push.objects('Order', { 1: { a: 1, b: 2 } }, options)).toEqual({
    source: 'Order',
    user_id: 'ada',
    changed: 1,
    unchanged: 0,
    seq: 1,
    chunks: 1,
  });
  await push.objects('Order', new Map([[2, { a: 1 }]]), options);
  await push.fastInsert('Order', [['3', { c: 3 }]], options);
  await push.fastUpdate('Order', { previous: { 1: { b: 2 } }, next: { 1: { a: 5 }, 3: { d: 4 } } }, options);
  await push.fastDelete('Order', { 3: { c: 3 } }, options);
  await push.deletes('Order', [2, 'never there'], options);
  const owner = { source: 'Order', user: 'ada' };
  expect(await documents.read(owner, 'md')).toEqual({ 1: { a: 5 }, 3: { d: 4 } });
});

it('[BSDK-6] more than one call holds goes in several, in order, and all of it arrives', async () => {
  const objects = products(250);
  const reports: PushProgress[] = [];
  const onProgress = (progress: PushProgress) => reports.push(progress);
  const report = await tidemark.push.objects('Product', objects, { chunkObjectsMax: 100, onProgress });
  expect(report).toMatchObject({ changed: 250, unchanged: 0, chunks: 3 });
  expect(sent.map((body) => Object.keys(JSON.parse(body).objects).length)).toEqual([100, 100, 50]);
  expect(reports.map(({ chunks, objects: count }) => [chunks, count])).toEqual([
    [1, 100],
    [2, 200],
    [3, 250],
  ]);
  expect(reports.at(-1)?.bytes).toBe(sent.join('').length);
  expect(await md()).toEqual(objects);
  expect(await tidemark.push.deletes('Product', Object.keys(objects), { chunkBytesMax: 1_000 })).toMatchObject({
    changed: 250,
  });
  expect(await md()).toEqual({});
});

it('[PG-61] a push takes deletes along in one call, and refuses an id that is in both before anything is sent', async () => {
  await tidemark.push.objects('Product', products(3));
  sent.length = 0;
  const report = await tidemark.push.objects('Product', { p1: { n: 7 } }, { deletes: ['p0', 9], whole: true });
  expect(report).toMatchObject({ changed: 2, unchanged: 1, chunks: 1 });
  expect(await md()).toEqual({ p1: { n: 7 }, p2: products(3).p2 });
  sent.length = 0;
  const both = tidemark.push.objects('Product', products(3), { deletes: ['p2'] });
  await expect(both).rejects.toMatchObject({ code: 'invalid_argument' });
  expect(sent).toEqual([]);
});

it('[BSDK-6] atomic refuses what does not fit into one call before anything is sent', async () => {
  const call = tidemark.push.objects('Product', products(101), { chunkObjectsMax: 100, atomic: true });
  await expect(call).rejects.toMatchObject({ code: 'push_too_large', pushed: { chunks: 0 } });
  expect(sent).toEqual([]);
  const fits = tidemark.push.objects('Product', products(100), { chunkObjectsMax: 100, atomic: true });
  expect(await fits).toMatchObject({ changed: 100, chunks: 1 });
});

it('[BSDK-7] when a call is refused, what was committed before is told, and nothing of the call itself is there', async () => {
  const objects = { ...products(5), bad: { number: 1e300 }, ...Object.fromEntries([['last', { a: 1 }]]) };
  const call = tidemark.push.objects('Product', objects, { chunkObjectsMax: 3 });
  await expect(call).rejects.toMatchObject({
    code: 'unsafe_number',
    pushed: { chunks: 1, objects: 3, changed: 3, unchanged: 0 },
  });
  expect(Object.keys((await md()) as object)).toEqual(['p0', 'p1', 'p2']);
});

it('[BSDK-7] answers that are lost change nothing about the result', async () => {
  lose = new Set([1, 3, 4]);
  const report = await tidemark.push.objects('Product', products(30), { chunkObjectsMax: 10 });
  expect(sent.length).toBe(6);
  expect(report).toMatchObject({ chunks: 3 });
  expect(await md()).toEqual(products(30));
});

it('[BSDK-8] files of objects are sent as they are read', async () => {
  const objects = products(1_000);
  const json = join(folder.path, 'products.json');
  const lines = join(folder.path, 'products.ndjson');
  await writeFile(json, JSON.stringify(objects, null, 2));
  await writeFile(
    lines,
    Object.entries(objects)
      .map((entry) => `${JSON.stringify(entry)}\n`)
      .join(''),
  );
  const options = { chunkObjectsMax: 300 };
  expect(await tidemark.push.objects('Product', objectsFromJson(createReadStream(json)), options)).toMatchObject({
    changed: 1_000,
    chunks: 4,
  });
  expect(await tidemark.push.objects('Product', objectsFromNdjson(createReadStream(lines)), options)).toMatchObject({
    unchanged: 1_000,
  });
  const read: ObjectEntry[] = [];
  for await (const entry of tidemark.documents.readObjects({ source: 'Product', shared: true }, 'md')) read.push(entry);
  expect(Object.fromEntries(read)).toEqual(objects);
  const ids = join(folder.path, 'ids.json');
  await writeFile(ids, JSON.stringify(Object.keys(objects)));
  expect(await tidemark.push.deletes('Product', idsFromJson(createReadStream(ids)))).toMatchObject({ changed: 1_000 });
});

it('[BSDK-8] no more is read ahead than one call holds', async () => {
  let read = 0;
  async function* endless(): AsyncGenerator<ObjectEntry, void> {
    for (; ; read++) yield [read, { n: read }];
  }
  const stop = new AbortController();
  const ahead: number[] = [];
  const onProgress = ({ objects }: PushProgress) => {
    ahead.push(read - objects);
    if (objects >= 500) stop.abort(new Error('enough'));
  };
  const call = tidemark.push.objects('Product', endless(), { chunkObjectsMax: 100, onProgress, signal: stop.signal });
  await expect(call).rejects.toThrow('enough');
  expect(ahead).toEqual([0, 0, 0, 0, 0]);
});

it('[BSDK-8] a file that is damaged half-way leaves whole calls behind, and says where', async () => {
  const text = `["1",{"a":1}]\n["2",{"a":1}]\n["3",{"a":`;
  const call = tidemark.push.objects('Product', objectsFromNdjson([text]), { chunkObjectsMax: 1 });
  await expect(call).rejects.toMatchObject({
    code: 'invalid_input',
    message: 'line 3 is not JSON',
    pushed: { chunks: 1 },
  });
  expect(await md()).toEqual({ 1: { a: 1 } });
});

it.each(['', 1.5, null, {}])('[BSDK-7] what cannot be an id is not sent: %j', async (id) => {
  const entry = [id, { a: 1 }] as unknown as ObjectEntry;
  await expect(tidemark.push.objects('Product', [entry])).rejects.toMatchObject({ code: 'invalid_argument' });
  expect(sent).toEqual([]);
});

it.each([
  ['no attributes', 'x'],
  ['a list', []],
  ['a number that is not finite', { a: [null, { b: Number.NaN }] }],
  ['a number too large for JSON', { a: 1n }],
])('[BSDK-7] what cannot be said in JSON is not sent as something else: %s', async (_, attributes) => {
  const objects = { 1: attributes } as unknown as Record<string, Attributes>;
  await expect(tidemark.push.objects('Product', objects)).rejects.toMatchObject({ code: 'invalid_argument' });
  expect(sent).toEqual([]);
});
