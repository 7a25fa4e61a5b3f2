import { createHash } from 'node:crypto';
import { type FakeS3, type S3Fault, startFakeS3 } from '@tidemark/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FileEngine } from '../file-engine.ts';
import { openS3Engine } from './s3-engine.ts';

let storage: FakeS3;
let engine: FileEngine;

const KEYS = { accessKey: 'AK-of-the-operator', secretKey: 'SK-of-the-operator', region: 'eu' };

beforeEach(async () => {
  storage = await startFakeS3();
  engine = await openS3Engine({
    ...KEYS,
    endpoint: storage.url,
    bucket: 'b',
    prefix: 'p/',
    timeoutMs: 60_000,
    retryPauseMs: 1,
  });
});

afterEach(() => storage.stop());

const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const BYTES = Buffer.alloc(3_000_000, 'storage that fails ');
const SHA256 = sha256Of(BYTES);
const ID = `${'ab'.repeat(16)}.${SHA256}`;

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 500_000) yield bytes.subarray(at, at + 500_000);
}

async function readAll(sha256: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of engine.read(sha256)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Uploads in two pieces. */
async function upload(): Promise<string> {
  await engine.createUpload(ID, { sha256: SHA256, size: BYTES.length });
  const first = await engine.append(ID, 0, { chunks: chunksOf(BYTES.subarray(0, 1_200_000)) });
  await engine.append(ID, first, { chunks: chunksOf(BYTES.subarray(first)) });
  const outcome = await engine.finish(ID);
  await engine.dropUpload(ID);
  return outcome;
}

/** Lets every request fail once in this way before it succeeds. */
function failEveryRequestOnce(fault: S3Fault): void {
  const failed = new Set<string>();
  storage.fault = (request) => {
    if (failed.has(request)) return null;
    failed.add(request);
    return fault;
  };
}

it.each(['error', 'lost_answer', 'wrong_bytes'] as const)(
  '[FILES-65] a storage whose every request fails once with %s stores the file, and nothing else stays',
  async (fault) => {
    failEveryRequestOnce(fault);
    expect(await upload()).toBe('stored');
    expect((await readAll(SHA256)).equals(BYTES)).toBe(true);
    const keys = [...storage.objects.keys()].sort();
    expect(keys).toEqual([`p/files/${SHA256}`, 'p/tidemark-files.json']);
  },
);

it('[FILES-65] what an earlier removal has left is not put in the place of a better file', async () => {
  await upload();
  storage.objects.set(`p/removed/${SHA256}.${'0'.repeat(18)}`, Buffer.from('damaged'));
  await engine.remove(SHA256, async () => true);
  expect((await readAll(SHA256)).equals(BYTES)).toBe(true);
  expect(await engine.unfinishedRemovals()).toEqual([]);
});

it('[FILES-65] a download goes on where the storage cut it off', async () => {
  await upload();
  let cuts = 3;
  storage.fault = (request) => (request.startsWith('GET p/files/') && cuts-- > 0 ? 'half_answer' : null);
  expect((await readAll(SHA256)).equals(BYTES)).toBe(true);
});

it('[FILES-65] a storage that sends a whole object instead of its end makes no wrong file', async () => {
  await upload();
  const faults: S3Fault[] = ['half_answer', 'whole_object'];
  storage.fault = (request) => (request.startsWith('GET p/files/') ? (faults.shift() ?? null) : null);
  expect((await readAll(SHA256)).equals(BYTES)).toBe(true);
  storage.fault = (request) => (request.startsWith('GET p/files/') ? 'whole_object' : null);
  const part: Uint8Array[] = [];
  const reading = (async () => {
    for await (const chunk of engine.read(SHA256, { first: 7, last: 12 })) part.push(chunk);
  })();
  await expect(reading).rejects.toMatchObject({ kind: 'unavailable' });
  expect(part).toEqual([]);
});

it('[FILES-65] a copy that fails after the storage has answered 200 is made again', async () => {
  await upload();
  let failures = 1;
  storage.fault = (request) => (/^PUT p\/(?:removed|files)\//.test(request) && failures-- > 0 ? 'late_error' : null);
  await engine.remove(SHA256, async () => true);
  expect((await readAll(SHA256)).equals(BYTES)).toBe(true);
});

it('[FILES-65] an upload that is dropped while bytes arrive leaves nothing', async () => {
  await engine.createUpload(ID, { sha256: SHA256, size: BYTES.length });
  async function* droppedMeanwhile(): AsyncGenerator<Buffer> {
    yield BYTES.subarray(0, 1_000);
    await engine.dropUpload(ID);
  }
  await expect(engine.append(ID, 0, { chunks: droppedMeanwhile() })).rejects.toMatchObject({ kind: 'no_upload' });
  expect([...storage.objects.keys()]).toEqual(['p/tidemark-files.json']);
});

it('[FILES-65] more files than are put together at once are all stored', async () => {
  const texts = Array.from({ length: 20 }, (_, index) => `file ${index}`);
  let go = () => {};
  const going = new Promise<void>((resolve) => {
    go = resolve;
  });
  // The storage answers when as many files as possible are under way.
  let underWay = 0;
  storage.fault = async (request) => {
    if (!request.startsWith('PUT p/files/')) return null;
    if (++underWay === 8) go();
    await going;
    return null;
  };
  const admit = async () => {};
  await Promise.all(texts.map((text) => engine.write(chunksOf(Buffer.from(text)), { bytesMax: 10, admit })));
  expect(await engine.list({ limit: 100 })).toHaveLength(texts.length);
});

it('[FILES-65] what was acknowledged stays while the storage is down, and the upload goes on afterwards', async () => {
  await engine.createUpload(ID, { sha256: SHA256, size: BYTES.length });
  expect(await engine.append(ID, 0, { chunks: chunksOf(BYTES.subarray(0, 1_000_000)) })).toBe(1_000_000);
  storage.fault = () => 'error';
  const down = engine.append(ID, 1_000_000, { chunks: chunksOf(BYTES.subarray(1_000_000)) });
  await expect(down).rejects.toMatchObject({ kind: 'unavailable' });
  storage.fault = (request) => (request.startsWith('PUT p/uploads/') ? 'error' : null);
  const half = engine.append(ID, 1_000_000, { chunks: chunksOf(BYTES.subarray(1_000_000)) });
  await expect(half).rejects.toMatchObject({ kind: 'unavailable' });
  storage.fault = () => null;
  const found = await engine.findUpload(ID);
  expect(found).toMatchObject({ offset: 1_000_000 });
  await engine.append(ID, 1_000_000, { chunks: chunksOf(BYTES.subarray(1_000_000)) });
  expect(await engine.finish(ID)).toBe('stored');
});

it('[FILES-65] bytes that the storage damages later become no file', async () => {
  await engine.createUpload(ID, { sha256: SHA256, size: BYTES.length });
  await engine.append(ID, 0, { chunks: chunksOf(BYTES) });
  const [key = ''] = [...storage.objects.keys()].filter((name) => name.includes('/segments/'));
  storage.objects.set(key, Buffer.alloc(storage.objects.get(key)?.length ?? 0));
  expect(await engine.finish(ID)).toBe('mismatch');
  expect(await engine.stat(SHA256)).toBeNull();
});

it('[FILES-65] a storage that does not answer is given up, and the fault names neither keys nor signatures', async () => {
  const options = { ...KEYS, endpoint: storage.url, bucket: 'b', prefix: '', timeoutMs: 20, retryPauseMs: 1 };
  storage.fault = () => 'silent';
  const error = await openS3Engine(options).catch((fault: unknown) => fault);
  expect(error).toMatchObject({ kind: 'unavailable' });
  const told = JSON.stringify(error, Object.getOwnPropertyNames(error)) + String((error as Error).stack);
  for (const secret of ['SK-of-the-operator', 'Signature']) expect(told).not.toContain(secret);
});

it('[FILES-65] a file of several parts exists when all of them are joined, and not before', async () => {
  const large = Buffer.alloc(20_000_000, 'many parts ');
  const sha256 = sha256Of(large);
  let joins = 0;
  storage.fault = (request) => {
    if (!request.includes('uploadId=') || !request.startsWith('POST')) return null;
    expect(storage.objects.has(`p/files/${sha256}`)).toBe(joins > 0);
    return joins++ === 0 ? 'lost_answer' : null;
  };
  const stored = await engine.write(chunksOf(large), { bytesMax: large.length, admit: async () => {} });
  expect([stored.sha256, joins]).toEqual([sha256, 2]);
  expect((await readAll(sha256)).equals(large)).toBe(true);
  expect([...storage.objects.keys()].filter((key) => key.includes('/uploads/'))).toEqual([]);
});

it('[FILES-65] lists go on behind what the storage answers at once', async () => {
  const ids = ['1', '2', '3', '4', '5'].map((digit) => `${'cd'.repeat(16)}.${digit.repeat(64)}`);
  for (const id of ids) await engine.createUpload(id, { sha256: SHA256, size: BYTES.length });
  const listed = await engine.listUploads({ limit: 4, after: ids[0] });
  expect(listed.map(({ id }) => id)).toEqual(ids.slice(1));
  for (const text of ['a', 'b', 'c', 'd', 'e']) {
    await engine.write(chunksOf(Buffer.from(text)), { bytesMax: 1, admit: async () => {} });
  }
  expect(await engine.list({ limit: 10 })).toHaveLength(5);
  expect(await engine.list({ limit: 3 })).toHaveLength(3);
});

it('[FILES-65] a list goes on behind a page of names that are no hashes', async () => {
  const stored = await engine.write(chunksOf(BYTES), { bytesMax: BYTES.length, admit: async () => {} });
  const [written = '', object] = [...storage.objects].find(([key]) => key.endsWith(stored.sha256)) ?? [];
  if (object === undefined) throw new Error('the file is stored');
  for (const name of ['!1', '!2', '!3', '!4', '!5']) storage.objects.set(written.replace(stored.sha256, name), object);
  let lists = 0;
  // A list that never ended would hold up all tests.
  storage.fault = () => (++lists > 20 ? 'error' : null);
  expect(await engine.list({ limit: 10 })).toEqual([expect.objectContaining({ sha256: stored.sha256 })]);
});
