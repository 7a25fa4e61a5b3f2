import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { DEFAULT_LIMITS, type Page } from '@tidemark/protocol';
import { Caller, CONTENT_CODINGS, HeldObjects, makeUser, openDevice, type TestDevice } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SNAPSHOT_RETRY_AFTER_S, SNAPSHOTS_PER_DEVICE_MAX } from '../../limits.ts';

const PAGE_OBJECTS = 50;
let server: TestServer;
let admin: Caller;
let anna: TestDevice;
let bob: TestDevice;

beforeAll(async () => {
  server = await startTestServer({ limits: { ...DEFAULT_LIMITS, lineObjectsMax: PAGE_OBJECTS } });
  admin = new Caller(server.url, server.token);
  for (const login of ['anna', 'bob']) await makeUser(server, login);
  anna = await openDevice(server, 'anna');
  bob = await openDevice(server, 'bob');
});

afterAll(async () => {
  admin.close();
  await server.close();
});

async function newSource(name: string, attributes: Readonly<Record<string, unknown>> = {}): Promise<string> {
  await admin.post('/rc/v1/sources', { name, partition_type: 'app', ...attributes });
  return name;
}

async function push(source: string, objects: unknown, user_id?: string): Promise<void> {
  const body = { objects, ...(user_id === undefined ? {} : { user_id }) };
  expect((await admin.post(`/app/v1/${source}/push_objects`, body)).status).toBe(200);
}

const many = (count: number, from = 0) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`o${from + index}`, { text: `é ${from + index}`.repeat(9) }]),
  );

/** The undecoded answer. */
async function call(
  { session }: TestDevice,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | null = null,
): Promise<IncomingMessage> {
  const sent = request(`${server.url}${path}`, {
    method: body === null ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${session.token}`, ...headers },
    agent: false,
  });
  sent.on('error', () => undefined);
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

function open(
  device: TestDevice,
  source: string,
  token: string | null = null,
  headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage> {
  const query = token === null ? '' : `?token=${encodeURIComponent(token)}`;
  return call(device, `/sync/v1/sources/${source}/snapshot${query}`, headers);
}

async function* pagesIn(stream: Readable): AsyncGenerator<Page> {
  for await (const line of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
    yield JSON.parse(line) as Page;
  }
}

async function readAll(device: TestDevice, source: string, held = new HeldObjects()): Promise<readonly Page[]> {
  const pages: Page[] = [];
  for await (const page of pagesIn(await open(device, source, held.token))) {
    held.apply(page);
    pages.push(page);
  }
  return pages;
}

describe('a snapshot', () => {
  it.each([0, 1, PAGE_OBJECTS - 1, PAGE_OBJECTS, PAGE_OBJECTS + 1, 2 * PAGE_OBJECTS + 1])(
    '[SNAP-1] a snapshot of %i objects contains all of them in pages, and ends with count and checksum',
    async (count) => {
      const source = await newSource(`Whole${count}`);
      if (count > 0) await push(source, many(count));
      const held = new HeldObjects();
      const pages = await readAll(anna, source, held);
      expect(Object.fromEntries(held.objects)).toEqual(many(count));
      expect(pages.map(({ more }) => more)).toEqual([...Array(pages.length - 1).fill(true), false]);
      expect(pages).toHaveLength(Math.max(1, Math.ceil(count / PAGE_OBJECTS)));
      // After that the device continues by pulling.
      const pull = { client_id: anna.id, sources: { [source]: { token: held.token } } };
      const { body } = await anna.api.post('/sync/v1/pull', pull);
      expect(body).toMatchObject({ sources: { [source]: { token: held.token, more: false } } });
    },
  );

  it('[SNAP-1] a snapshot works for sources that do not allow pages', async () => {
    const source = await newSource('Bulk', { sync_type: 'bulk_only' });
    await push(source, many(120));
    const pull = { client_id: anna.id, sources: { [source]: {} } };
    expect((await anna.api.post('/sync/v1/pull', pull)).body).toMatchObject({
      sources: { [source]: { error: { code: 'snapshot_required', detail: expect.stringContaining('snapshot') } } },
    });
    const held = new HeldObjects();
    await readAll(anna, source, held);
    expect(held.objects.size).toBe(120);
    await push(source, { o1: { text: 'new' } });
    expect(await readAll(anna, source, held)).toMatchObject([{ patch: { o1: { text: 'new' } }, more: false }]);
  });

  it('[SNAP-2] an interrupted snapshot continues after its last complete line', async () => {
    const source = await newSource('Resumed');
    await push(source, many(220));
    for (let lines = 1; lines <= 4; lines++) {
      const held = new HeldObjects();
      const response = await open(anna, source);
      let read = 0;
      for await (const page of pagesIn(response)) {
        held.apply(page);
        if (++read === lines) break;
      }
      response.destroy();
      await readAll(anna, source, held);
      expect(Object.fromEntries(held.objects)).toEqual(many(220));
    }
  });

  it('[SNAP-3] a snapshot is consistent with its final token while writes go on', async () => {
    const source = await newSource('Busy');
    await push(source, many(300));
    for (let round = 0; round < 5; round++) {
      const held = new HeldObjects();
      let isWriting = true;
      const writing = (async () => {
        for (let count = 0; isWriting; count++) {
          await push(source, { [`o${count % 300}`]: { text: `round ${round} ${count}` }, [`n${count}`]: { round } });
          await admin.post(`/app/v1/${source}/push_deletes`, { objects: [`o${(count * 7) % 300}`] });
        }
      })();
      let last = await readAll(anna, source, held);
      isWriting = false;
      await writing;
      while (last.at(-1)?.more !== false || held.token === null) last = await readAll(anna, source, held);
      await readAll(anna, source, held);
      const { body } = await admin.get(`/rc/v1/users/*/sources/${source}/docs/md`);
      expect(Object.fromEntries(held.objects)).toEqual(body);
    }
  });

  it('[SNAP-3] a snapshot ends even if writes are faster than its reader', async () => {
    const source = await newSource('Chased');
    await push(source, many(10));
    const held = new HeldObjects();
    let lines = 0;
    for await (const page of pagesIn(await open(anna, source))) {
      held.apply(page);
      lines++;
      // More than a page, before the next one is read.
      await push(source, Object.fromEntries(Object.keys(many(PAGE_OBJECTS + 5)).map((id) => [id, { lines }])));
    }
    expect(lines).toBeLessThan(200);
    while ((await readAll(anna, source, held)).at(-1)?.more !== false);
    expect(held.objects.size).toBe(PAGE_OBJECTS + 5);
  });

  it('[SNAP-4] a snapshot is compressed as the caller allows, with the same content in every coding', async () => {
    const source = await newSource('Coded');
    await push(source, many(180));
    const texts: string[] = [];
    for (const { name: coding, read } of CONTENT_CODINGS) {
      const response = await open(anna, source, null, { 'accept-encoding': coding });
      expect(response.headers).toMatchObject({
        'content-type': 'application/x-ndjson; charset=utf-8',
        'cache-control': 'no-store',
        vary: 'accept-encoding',
        ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
      });
      const bytes = await buffer(response);
      texts.push(read(bytes));
      if (coding !== 'identity') expect(bytes.length).toBeLessThan((texts[0]?.length ?? 0) / 2);
    }
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]?.trim().split('\n')).toHaveLength(4);
  });

  it.each(CONTENT_CODINGS)('[SNAP-4] a snapshot in $name can be read line by line as it arrives', async (coding) => {
    const source = await newSource(`Streamed_${coding.name}`);
    await push(source, many(180));
    const response = await open(anna, source, null, { 'accept-encoding': coding.name });
    const held = new HeldObjects();
    for await (const page of pagesIn(response.pipe(coding.open()))) held.apply(page);
    expect(held.objects.size).toBe(180);
  });

  it('[SNAP-5] a snapshot of data of another user, or of an unknown source, is refused', async () => {
    const source = await newSource('Own', { partition_type: 'user' });
    await push(source, { secret: { a: 1 } }, 'bob');
    const ofBob = new HeldObjects();
    await readAll(bob, source, ofBob);
    expect([...ofBob.objects.keys()]).toEqual(['secret']);
    for (const token of [null, ofBob.token, 'x', '']) {
      const text = (await buffer(await open(anna, source, token))).toString();
      expect(JSON.parse(text)).toMatchObject({ reset: true, size: 0, more: false });
    }
    const path = (name: string) => `/sync/v1/sources/${name}/snapshot`;
    expect(await anna.api.get(path('Nope'))).toMatchObject({ status: 404, code: 'source_not_found' });
    expect(await anna.api.get(path('%2A'))).toMatchObject({ status: 422, code: 'invalid_name' });
    expect(await anna.api.get(`${path(source)}?tokn=x`)).toMatchObject({ status: 400 });
    const head = await anna.api.send({ method: 'HEAD', path: path(source), headers: {}, body: null });
    expect([head.status, head.text]).toEqual([200, '']);
  });
});

describe('answers to pulls', () => {
  async function pullBytes(device: TestDevice, sources: unknown, accept: string) {
    const body = JSON.stringify({ client_id: device.id, sources });
    const headers = { 'content-type': 'application/json', 'accept-encoding': accept };
    const response = await call(device, '/sync/v1/pull', headers, body);
    return { headers: response.headers, bytes: await buffer(response) };
  }

  it('[WIRE-1] answers to pulls are the same in every coding, with a Vary header', async () => {
    const source = await newSource('Pulled');
    await push(source, many(50));
    const answers = await Promise.all(
      CONTENT_CODINGS.map(async (coding) => ({ coding, ...(await pullBytes(anna, { [source]: {} }, coding.name)) })),
    );
    for (const { coding, headers, bytes } of answers) {
      expect(coding.read(bytes)).toBe(answers[0]?.bytes.toString());
      expect(headers['content-encoding'] ?? 'identity').toBe(coding.name);
      expect(headers.vary).toBe('accept-encoding');
    }
    const { sources } = JSON.parse(answers[0]?.bytes.toString() ?? '{}') as { sources: Record<string, Page> };
    const small = await pullBytes(anna, { [source]: { token: sources[source]?.token } }, 'gzip');
    expect(small.headers['content-encoding']).toBe(undefined);
    expect(small.headers.vary).toBe('accept-encoding');
  });
});

describe('concurrent snapshots', () => {
  it('[SNAP-9] one snapshot more than a device may have is refused until one has ended', async () => {
    const source = await newSource('Slots');
    // More than socket buffers hold, so that none ends before it is read.
    for (let part = 0; part < 4; part++) {
      await push(
        source,
        Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`${part}.${n}`, { text: 'x'.repeat(1e6) }])),
      );
    }
    const carla = await openDevice(server, 'anna');
    const streams: IncomingMessage[] = [];
    for (let count = 0; count < SNAPSHOTS_PER_DEVICE_MAX; count++) streams.push(await open(carla, source));
    const refused = await open(carla, source);
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, String(SNAPSHOT_RETRY_AFTER_S)]);
    expect(JSON.parse((await buffer(refused)).toString())).toMatchObject({ code: 'rate_limited' });
    expect((await open(bob, source)).statusCode).toBe(200);
    // A complete, an interrupted and a refused snapshot all release their slot.
    const [read, ...broken] = streams;
    if (read === undefined) throw new Error('no stream');
    await buffer(read);
    for (const stream of broken) stream.destroy();
    for (let count = 0; count < 2 * SNAPSHOTS_PER_DEVICE_MAX; count++) {
      expect((await carla.api.get('/sync/v1/sources/None/snapshot')).status).toBe(404);
    }
    for (let tries = 0; ; tries++) {
      const next = await open(carla, source);
      await buffer(next);
      if (next.statusCode === 200) break;
      expect(tries).toBeLessThan(1_000);
    }
  });
});
