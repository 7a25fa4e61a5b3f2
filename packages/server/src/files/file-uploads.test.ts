import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { type FileEngine, FileFault, openFolderEngine } from '@tidemark/files';
import { newTidemark, refusalOf, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FILE_TRANSFERS_PER_CALLER_MAX, UPLOAD_IDLE_MS } from '../limits.ts';
import { BackendFiles } from './backend-files.ts';
import { FileLinks } from './file-links.ts';
import { FileTransfers } from './file-transfers.ts';
import { FileUploads } from './file-uploads.ts';

const BYTES = Buffer.from('a photo of a hundred bytes'.padEnd(100, '.'));
const SHA256 = createHash('sha256').update(BYTES).digest('hex');
const UNKNOWN = 'a'.repeat(64);
const device = (user: string) => ({ user, client: `client of ${user}` });
const fileRules = { quotaBytes: 100, graceMs: 3_600_000, uploadExpiresMs: 3_600_000 };

let folder: TemporaryFolder;
let engine: FileEngine;

beforeEach(async () => {
  folder = await temporaryFolder();
  engine = await openFolderEngine({ folder: folder.path });
});

afterEach(() => folder.remove());

async function scene(changed: Partial<FileEngine> = {}) {
  const { tidemark, clock } = await newTidemark({ fileRules });
  const { quotaBytes } = fileRules;
  const used: FileEngine = Object.assign(Object.create(engine) as FileEngine, bound(engine), changed);
  const parts = {
    engine: used,
    rights: tidemark.files,
    nowMs: clock.nowMs,
    sizeMax: 1_000,
    quotaBytes,
    expiresMs: 1_000,
  };
  const uploads = new FileUploads(parts);
  const send = async (user: string, bytes = BYTES) => {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    await uploads.begin(device(user), sha256, bytes.length);
    return uploads.append(device(user), sha256, { offset: 0, checksum: undefined, body: Readable.from([bytes]) });
  };
  const links = new FileLinks({
    secret: async () => 'secret',
    serverUrl: () => 'http://localhost',
    nowMs: clock.nowMs,
  });
  const rest = { linkS: 0, links, onDamaged: () => undefined };
  const transfers = new FileTransfers({ ...parts, ...rest, catalogue: tidemark.files });
  return { tidemark, clock, uploads, backend: new BackendFiles(parts), transfers, send };
}

function signal() {
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give: () => give() };
}

/** The methods of an engine that has private fields. */
function bound(of: FileEngine): Partial<FileEngine> {
  const names = [
    'createUpload',
    'findUpload',
    'append',
    'finish',
    'dropUpload',
    'listUploads',
    'write',
    'stat',
    'read',
    'remove',
  ] as const;
  return Object.fromEntries(names.map((name) => [name, of[name].bind(of)]));
}

it('[FILES-13] a device beyond its quota that only knows a hash finds no upload, whether the file is here or not', async () => {
  const { uploads, send } = await scene();
  await send('bob');
  await send('ada', Buffer.alloc(100, 'of ada'));
  expect(await uploads.find(device('ada'), UNKNOWN)).toBeNull();
  expect(await uploads.find(device('ada'), SHA256)).toBeNull();
  expect(await uploads.find(device('bob'), SHA256)).toMatchObject({ offset: 100 });
});

it('[FILES-46] a file that is taken for a damaged one while it is stored is here when its sender is told so', async () => {
  let removals = 1;
  const finish = async (id: string) => {
    const outcome = await engine.finish(id);
    if (removals-- > 0) await engine.remove(SHA256, async () => false);
    return outcome;
  };
  const { send } = await scene({ finish });
  expect(await send('ada')).toMatchObject({ offset: 100 });
  expect(await engine.stat(SHA256)).toMatchObject({ size: 100 });
  expect(await engine.listUploads({ limit: 1 })).toEqual([]);
});

it('[FILES-50] an upload expires so long after its last bytes, however often it is asked for', async () => {
  const changedMs = 1_699_999_999_500;
  const findUpload: FileEngine['findUpload'] = async (id) => {
    const upload = await engine.findUpload(id);
    return upload === null ? null : { ...upload, changedMs };
  };
  const { uploads } = await scene({ findUpload });
  await uploads.begin(device('ada'), SHA256, 100);
  expect(await uploads.find(device('ada'), SHA256)).toMatchObject({ expiresMs: changedMs + 1_000 });
});

it('[FILES-50] a device that announces another size for a file that is stored is not told that it is finished', async () => {
  const { uploads, send } = await scene();
  await send('ada');
  expect(await uploads.begin(device('ada'), SHA256, 90)).toMatchObject({ size: 90, offset: 0 });
  expect(await uploads.begin(device('ada'), SHA256, 100)).toMatchObject({ size: 100, offset: 100 });
});

it('[FILES-32] an upload whose bytes turn out to be others gives its room in the quota back', async () => {
  const { uploads, send } = await scene();
  await uploads.begin(device('ada'), UNKNOWN, 100);
  const wrong = { offset: 0, checksum: undefined, body: Readable.from([BYTES]) };
  expect(await refusalOf(uploads.append(device('ada'), UNKNOWN, wrong))).toBe('file_hash_mismatch');
  expect(await send('ada')).toMatchObject({ offset: 100 });
});

it('[FILES-102] the uploads that a user has unfinished announce at most as many bytes as the quota, also if they begin at the same moment', async () => {
  const { uploads } = await scene();
  const hashes = Array.from({ length: 5 }, (_, number) => createHash('sha256').update(`file ${number}`).digest('hex'));
  const begun = await Promise.allSettled(hashes.map((sha256) => uploads.begin(device('ada'), sha256, 30)));
  expect(begun.filter(({ status }) => status === 'fulfilled').length).toBe(3);
  expect(await uploads.begin(device('ada'), UNKNOWN, 10)).toMatchObject({ offset: 0 });
  expect(await refusalOf(uploads.begin(device('ada'), SHA256, 1))).toBe('too_many_uploads');
  // One that has begun is found, and begins anew with another size.
  expect(await uploads.begin(device('ada'), UNKNOWN, 10)).toMatchObject({ offset: 0 });
  expect(await refusalOf(uploads.begin(device('ada'), UNKNOWN, 11))).toBe('too_many_uploads');
  expect(await uploads.begin({ user: 'bob', client: 'client of ada' }, SHA256, 100)).toMatchObject({ offset: 0 });
  await uploads.drop(device('ada'), UNKNOWN);
  expect(await uploads.begin(device('ada'), SHA256, 10)).toMatchObject({ offset: 0 });
});

it('[FILES-41] an upload whose bytes still arrive is not taken over by another call', async () => {
  const handled = new PassThrough({ objectMode: true });
  const append: FileEngine['append'] = (id, offset, { chunks, checksum }) => {
    const noted = async function* () {
      for await (const chunk of chunks) {
        handled.write('chunk');
        yield chunk;
      }
    };
    return engine.append(id, offset, { chunks: noted(), checksum });
  };
  const { clock, uploads } = await scene({ append });
  await uploads.begin(device('ada'), SHA256, 100);
  const body = new PassThrough();
  const first = uploads.append(device('ada'), SHA256, { offset: 0, checksum: undefined, body });
  for (const end of [50, 75]) {
    const isHandled = once(handled, 'data');
    body.write(BYTES.subarray(end === 50 ? 0 : 50, end));
    await isHandled;
    clock.advance(UPLOAD_IDLE_MS - 1);
  }
  const second = uploads.append(device('ada'), SHA256, {
    offset: 0,
    checksum: undefined,
    body: Readable.from([BYTES]),
  });
  expect(await refusalOf(second)).toBe('upload_locked');
  body.end(BYTES.subarray(75));
  expect(await first).toMatchObject({ offset: 100 });
});

it('[FILES-46] a damaged file that is sent again just before its removal is here afterwards', async () => {
  let sendAgain = async (): Promise<unknown> => undefined;
  const remove: FileEngine['remove'] = async (sha256, isWanted) => {
    await sendAgain();
    return engine.remove(sha256, isWanted);
  };
  // The bytes are wrong the first time that they are read.
  let reads = 0;
  const read: FileEngine['read'] = async function* (sha256, range) {
    if (reads++ === 0) yield Buffer.from('damaged');
    else yield* engine.read(sha256, range);
  };
  const { tidemark, transfers, send } = await scene({ remove, read });
  await send('ada');
  sendAgain = () => send('ada');
  expect(await transfers.verify(SHA256)).toEqual({ size: 100, problem: 'damaged' });
  expect(await engine.stat(SHA256)).toMatchObject({ size: 100 });
  expect(await tidemark.files.find(SHA256)).toMatchObject({ is_stored: true });
});

it('[FILES-101] a caller has so many transfers at once and no more, and those that were refused or have ended do not count', async () => {
  const { transfers, send } = await scene();
  await send('ada');
  const open = (sha256: string) =>
    transfers.sendTo('backend', () => transfers.openAny(sha256, { method: 'GET', headers: {} }));
  for (let at = 0; at <= FILE_TRANSFERS_PER_CALLER_MAX; at++) {
    expect(await refusalOf(open(UNKNOWN))).toBe('file_not_found');
  }
  const ends: (() => void)[] = [];
  for (let at = 0; at < FILE_TRANSFERS_PER_CALLER_MAX; at++) ends.push((await open(SHA256)).onEnd);
  expect(await refusalOf(open(SHA256))).toBe('rate_limited');
  expect(
    await transfers.within(
      'another',
      () => false,
      async () => 'done',
    ),
  ).toBe('done');
  ends[0]?.();
  ends[0]?.();
  await open(SHA256);
  expect(await refusalOf(open(SHA256))).toBe('rate_limited');
});

it('[FILES-50] a device that asks again while its upload is finished for long learns that it is', async () => {
  const [begun, go] = [signal(), signal()];
  const finish = async (id: string) => {
    begun.give();
    await go.given;
    return engine.finish(id);
  };
  const { clock, uploads, send } = await scene({ finish });
  const first = send('ada');
  await begun.given;
  clock.advance(UPLOAD_IDLE_MS);
  const second = uploads.find(device('ada'), SHA256);
  go.give();
  expect(await Promise.all([first, second])).toMatchObject([{ offset: 100 }, { offset: 100 }]);
});

it('[FILES-58] a backend that stores a file again whose bytes are gone brings them back', async () => {
  const { backend } = await scene();
  const store = () => backend.store({ sha256: SHA256, size: 100, body: Readable.from([BYTES]) });
  await store();
  await engine.remove(SHA256, async () => false);
  await store();
  expect(await engine.stat(SHA256)).toMatchObject({ size: 100 });
});

it('[FILES-46] a backend whose file is taken for a damaged one while it is stored is told to send it again', async () => {
  let removals = 1;
  const write: FileEngine['write'] = async (chunks, admission) => {
    const stored = await engine.write(chunks, admission);
    if (removals-- > 0) await engine.remove(SHA256, async () => false);
    return stored;
  };
  const { tidemark, backend } = await scene({ write });
  const store = () => backend.store({ sha256: SHA256, size: 100, body: Readable.from([BYTES]) });
  expect(await refusalOf(store())).toBe('file_busy');
  expect(await tidemark.files.usage()).toMatchObject({ files: 0 });
  expect(await store()).toMatchObject({ sha256: SHA256 });
  expect(await tidemark.files.usage()).toMatchObject({ files: 1 });
});

type Scene = Awaited<ReturnType<typeof scene>>;

it.each<[keyof FileEngine, (scene: Scene) => Promise<unknown>]>([
  ['findUpload', ({ uploads }) => uploads.drop(device('ada'), SHA256)],
  ['listUploads', ({ uploads }) => uploads.begin(device('ada'), SHA256, 100)],
  ['stat', ({ uploads }) => uploads.find(device('ada'), SHA256)],
  ['dropUpload', ({ send }) => send('ada')],
])('[FILES-65] a storage that fails at %s is said to be unavailable', async (name, call) => {
  const fault = new FileFault('unavailable', 'the storage of the files does not answer');
  const failing = await scene({ [name]: () => Promise.reject(fault) });
  expect(await refusalOf(call(failing))).toBe('store_unavailable');
});
