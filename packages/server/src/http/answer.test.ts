import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { Type } from '@tidemark/protocol/typebox';
import { temporaryFolder } from '@tidemark/testing';
import { silentLog, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compose, type Running } from '../compose.ts';
import { ownParts, shareParts, type TextPart } from './coding/text-parts.ts';
import { JsonLines, JsonParts, route } from './route.ts';

/** More than the socket buffers on both sides hold. */
const PIECE_BYTES = 12_000_000;
const PIECES = 3;

let server: Running;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;

/** Unique, and hard to compress. */
function piece(number: number): Buffer {
  const hash = createHash('sha512').update(`${number}`).digest('hex');
  return Buffer.from(hash.repeat(PIECE_BYTES / hash.length));
}

/** What answers were sent from since the test began. */
let sent: TextPart[] = [];

function own(...texts: readonly TextPart[]): readonly TextPart[] {
  sent.push(...texts.filter((text) => typeof text !== 'string'));
  return ownParts(texts);
}

const parts = route({
  method: 'GET',
  path: '/test/parts',
  operationId: 'test',
  scope: 'public',
  summary: 'A large answer',
  answer: Type.Unknown(),
  handle: async () => new JsonParts(own('"', piece(0), '"')),
});

/** Lines the server has read. */
let linesAsked = 0;

async function* lines(): AsyncGenerator<readonly TextPart[]> {
  for (let number = 0; number < PIECES; number++) {
    linesAsked++;
    yield own('"', piece(number), '"\n');
  }
}

const stream = route({
  method: 'GET',
  path: '/test/lines',
  operationId: 'test',
  scope: 'public',
  summary: 'Large lines',
  answer: Type.Unknown(),
  streams: 'application/x-ndjson',
  handle: async () => new JsonLines(lines()),
});

const kept = piece(PIECES);
const shared = route({
  method: 'GET',
  path: '/test/shared',
  operationId: 'test',
  scope: 'public',
  summary: 'A large answer that others get as well',
  answer: Type.Unknown(),
  handle: async () => new JsonParts(['"', ...shareParts([kept]), '"']),
});

beforeAll(async () => {
  folder = await temporaryFolder();
  server = await compose(testConfig(folder.path), silentLog(), { extraRoutes: [parts, stream, shared] });
});

afterAll(async () => {
  await server.close();
  await folder.remove();
});

/** Reads nothing at first, as on a slow connection, then calls `beforeReading` and reads everything. */
async function readLate(path: string, coding: string, beforeReading = () => {}): Promise<Buffer> {
  const call = request(server.url + path, { agent: false, headers: { 'accept-encoding': coding } }).end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  for (let turn = 0; turn < 100; turn++) await nextTurn();
  beforeReading();
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  return response.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
}

const digest = (...texts: readonly (Buffer | string)[]) =>
  texts.reduce((hash, text) => hash.update(text), createHash('sha256')).digest('hex');

/** Freed memory has no length. */
const lengths = () => sent.map(({ length }) => length);

beforeEach(() => {
  sent = [];
});

describe.each(['identity', 'gzip'])('large answers as %s', (coding) => {
  it('[WIRE-5] a large answer arrives completely at a slow reader', async () => {
    expect(digest(await readLate('/test/parts', coding))).toBe(digest('"', piece(0), '"'));
  });

  it('[WIRE-5] the lines of a stream arrive completely at a slow reader', async () => {
    const wanted = Array.from({ length: PIECES }, (_, number) => ['"', piece(number), '"\n']).flat();
    expect(digest(await readLate('/test/lines', coding))).toBe(digest(...wanted));
  });

  it.each([
    ['/test/parts', 1],
    ['/test/lines', PIECES],
  ])('[WIRE-9] the memory of %s is freed when it has been sent', async (path, count) => {
    await readLate(path, coding);
    await expect.poll(lengths).toEqual(Array.from({ length: count }, () => 0));
  });

  it('[WIRE-9] the memory of an answer that others get as well is not freed', async () => {
    for (let reader = 0; reader < 2; reader++) {
      expect(digest(await readLate('/test/shared', coding))).toBe(digest('"', piece(PIECES), '"'));
    }
  });
});

it('[WIRE-5] a reader that has not begun to read holds one large line of a stream in memory', async () => {
  linesAsked = 0;
  await readLate('/test/lines', 'identity', () => expect(linesAsked).toBe(1));
  expect(linesAsked).toBe(PIECES);
});

it.each(['/test/parts', '/test/lines'])(
  '[WIRE-9] the memory of %s is not freed while it is being sent',
  async (path) => {
    await readLate(path, 'identity', () => expect(lengths()).toEqual([PIECE_BYTES]));
  },
);

it('[WIRE-9] the memory of an answer that broke off is left to the garbage collector', async () => {
  const call = request(`${server.url}/test/parts`, { agent: false }).end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  response.destroy();
  await once(response, 'close');
  // Another answer passes through the whole server meanwhile.
  await readLate('/test/parts', 'identity');
  await expect.poll(lengths).toEqual([PIECE_BYTES, 0]);
});
