import { createHash } from 'node:crypto';
import type { FileEngine } from '@tidemark/files';
import { describe, expect, it } from 'vitest';

/** One kind of engine, and what its tests can do to it. */
export interface FileEngineUnderTest {
  /** Opens an empty engine. */
  open(): Promise<FileEngine>;
  /** Opens what the engine keeps a second time, as another process would. */
  openAgain(engine: FileEngine): Promise<FileEngine>;
}

const OWNER = 'ab'.repeat(16);
const MIB = 1_048_576;

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Returns bytes that differ everywhere, so that an exchanged part shows. */
function bytesOf(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0, value = seed; at < length; at++) {
    value = (value * 1_103_515_245 + 12_345) & 0x7fffffff;
    bytes[at] = value >> 16;
  }
  return bytes;
}

async function* inChunks(bytes: Buffer, chunkBytes = 65_536): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

async function* thenBreaks(bytes: Buffer): AsyncGenerator<Buffer> {
  yield* inChunks(bytes);
  throw new Error('the connection broke');
}

async function readAll(engine: FileEngine, sha256: string, range?: { first: number; last: number }): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of engine.read(sha256, range)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const idOf = (sha256: string, device = 'cd'.repeat(8)) => `${OWNER}.${device}${sha256}`;

/** Uploads a file in one piece. */
async function store(engine: FileEngine, bytes: Buffer): Promise<string> {
  const sha256 = sha256Of(bytes);
  const id = idOf(sha256);
  await engine.createUpload(id, { sha256, size: bytes.length });
  if (bytes.length > 0) await engine.append(id, 0, { chunks: inChunks(bytes) });
  expect(await engine.finish(id)).toBe('stored');
  await engine.dropUpload(id);
  return sha256;
}

/** Registers the contract of the file engine port for one engine. */
export function fileEngineContract(name: string, engine: FileEngineUnderTest): void {
  describe(`${name} keeps the contract of a file engine`, () => {
    uploadCases(engine);
    repeatedUploadCases(engine);
    brokenUploadCases(engine);
    listedUploadCases(engine);
    writeCases(engine);
    fileCases(engine);
    removalCases(engine);
  });
}

function uploadCases({ open, openAgain }: FileEngineUnderTest): void {
  it('[FILES-40] a file is stored when all its bytes have its hash, and not before', async () => {
    const engine = await open();
    const bytes = bytesOf(3 * MIB + 7);
    const sha256 = sha256Of(bytes);
    const id = idOf(sha256);
    expect(await engine.createUpload(id, { sha256, size: bytes.length })).toMatchObject({ sha256, offset: 0 });
    expect(await engine.append(id, 0, { chunks: inChunks(bytes.subarray(0, MIB)) })).toBe(MIB);
    expect(await engine.stat(sha256)).toBeNull();
    await expect(engine.finish(id)).rejects.toMatchObject({ kind: 'wrong_offset' });
    expect(await engine.append(id, MIB, { chunks: inChunks(bytes.subarray(MIB)) })).toBe(bytes.length);
    expect(await engine.stat(sha256)).toBeNull();
    expect(await engine.finish(id)).toBe('stored');
    expect(await engine.stat(sha256)).toMatchObject({ sha256, size: bytes.length });
    expect(sha256Of(await readAll(await openAgain(engine), sha256))).toBe(sha256);
  });

  it('[FILES-40] an upload whose bytes have another hash leaves neither a file nor an upload', async () => {
    const engine = await open();
    const sha256 = sha256Of(Buffer.from('what was announced'));
    const id = idOf(sha256);
    const sent = Buffer.from('what was sent.....');
    await engine.createUpload(id, { sha256, size: sent.length });
    await engine.append(id, 0, { chunks: inChunks(sent) });
    expect(await engine.finish(id)).toBe('mismatch');
    expect(await engine.findUpload(id)).toBeNull();
    expect(await engine.stat(sha256)).toBeNull();
    expect(await engine.list({ limit: 10 })).toEqual([]);
  });

  it('[FILES-40] an empty file is stored like any other', async () => {
    const engine = await open();
    const sha256 = await store(engine, Buffer.alloc(0));
    expect(await engine.stat(sha256)).toMatchObject({ size: 0 });
    expect(await readAll(engine, sha256)).toHaveLength(0);
  });
}

function repeatedUploadCases({ open, openAgain }: FileEngineUnderTest): void {
  it('[FILES-47] two devices that upload the same file at once make one file, and both are told that it is stored', async () => {
    const engine = await open();
    const other = await openAgain(engine);
    const bytes = bytesOf(2 * MIB);
    const sha256 = sha256Of(bytes);
    const upload = async (at: FileEngine, device: string) => {
      const id = idOf(sha256, device);
      await at.createUpload(id, { sha256, size: bytes.length });
      await at.append(id, 0, { chunks: inChunks(bytes) });
      const outcome = await at.finish(id);
      await at.dropUpload(id);
      return outcome;
    };
    expect(await Promise.all([upload(engine, '11'.repeat(8)), upload(other, '22'.repeat(8))])).toEqual([
      'stored',
      'stored',
    ]);
    expect(await engine.list({ limit: 10 })).toMatchObject([{ sha256 }]);
    expect(sha256Of(await readAll(engine, sha256))).toBe(sha256);
    expect(await engine.listUploads({ limit: 10 })).toEqual([]);
  });

  it('[FILES-40] an upload that is finished can be finished again, as after a crash before it was acknowledged', async () => {
    const engine = await open();
    const bytes = bytesOf(100_000);
    const sha256 = sha256Of(bytes);
    const id = idOf(sha256);
    await engine.createUpload(id, { sha256, size: bytes.length });
    await engine.append(id, 0, { chunks: inChunks(bytes) });
    expect([await engine.finish(id), await engine.finish(id)]).toEqual(['stored', 'stored']);
    expect(await engine.findUpload(id)).toMatchObject({ offset: bytes.length });
  });
}

function brokenUploadCases({ open, openAgain }: FileEngineUnderTest): void {
  it('[FILES-41] the bytes before a break are kept, and the upload goes on behind them at another process', async () => {
    const engine = await open();
    const bytes = bytesOf(2 * MIB);
    const sha256 = sha256Of(bytes);
    const id = idOf(sha256);
    await engine.createUpload(id, { sha256, size: bytes.length });
    const broken = engine.append(id, 0, { chunks: thenBreaks(bytes.subarray(0, 700_000)) });
    await expect(broken).rejects.toThrow('the connection broke');
    const again = await openAgain(engine);
    expect(await again.findUpload(id)).toMatchObject({ offset: 700_000, size: bytes.length });
    expect(await again.createUpload(id, { sha256, size: bytes.length })).toMatchObject({ offset: 700_000 });
    await again.append(id, 700_000, { chunks: inChunks(bytes.subarray(700_000)) });
    expect(await again.finish(id)).toBe('stored');
    expect(sha256Of(await readAll(engine, sha256))).toBe(sha256);
  });

  it('[FILES-42] an append at another offset than that of the upload changes nothing', async () => {
    const engine = await open();
    const bytes = bytesOf(1_000);
    const sha256 = sha256Of(bytes);
    const id = idOf(sha256);
    await engine.createUpload(id, { sha256, size: bytes.length });
    await engine.append(id, 0, { chunks: inChunks(bytes.subarray(0, 400)) });
    for (const offset of [0, 399, 401]) {
      const append = engine.append(id, offset, { chunks: inChunks(bytes.subarray(offset)) });
      await expect(append).rejects.toMatchObject({ kind: 'wrong_offset' });
    }
    expect(await engine.findUpload(id)).toMatchObject({ offset: 400 });
  });

  it('[FILES-43] bytes with another checksum than announced count for nothing, and neither do those of a break', async () => {
    const engine = await open();
    const bytes = bytesOf(1_000);
    const sha256 = sha256Of(bytes);
    const id = idOf(sha256);
    await engine.createUpload(id, { sha256, size: bytes.length });
    const checksum = { algorithm: 'sha1', digest: createHash('sha1').update(bytes).digest() } as const;
    const wrong = engine.append(id, 0, { chunks: inChunks(bytesOf(1_000, 2)), checksum });
    await expect(wrong).rejects.toMatchObject({ kind: 'wrong_checksum' });
    const broken = engine.append(id, 0, { chunks: thenBreaks(bytes.subarray(0, 500)), checksum });
    await expect(broken).rejects.toThrow('the connection broke');
    expect(await engine.findUpload(id)).toMatchObject({ offset: 0 });
    expect(await engine.append(id, 0, { chunks: inChunks(bytes), checksum })).toBe(1_000);
    expect(await engine.finish(id)).toBe('stored');
  });
}

function listedUploadCases({ open }: FileEngineUnderTest): void {
  it('[FILES-44] more bytes than the upload announced are refused, and none of them counts', async () => {
    const engine = await open();
    const bytes = bytesOf(1_000);
    const sha256 = sha256Of(bytes);
    const id = idOf(sha256);
    await engine.createUpload(id, { sha256, size: bytes.length });
    const append = engine.append(id, 0, { chunks: inChunks(bytesOf(1_001), 100) });
    await expect(append).rejects.toMatchObject({ kind: 'too_long' });
    expect(await engine.findUpload(id)).toMatchObject({ offset: 0 });
  });

  it('[FILES-41] an upload is listed with its owner until it is dropped, and an unknown one is refused', async () => {
    const engine = await open();
    const sha256 = sha256Of(Buffer.from('listed'));
    const ids = ['11', '22', '33'].map((device) => idOf(sha256, device.repeat(8)));
    for (const id of ids) await engine.createUpload(id, { sha256, size: 6 });
    await engine.createUpload(`${'ef'.repeat(16)}.${sha256}`, { sha256, size: 6 });
    const listed = async (page: Parameters<FileEngine['listUploads']>[0]) =>
      (await engine.listUploads(page)).map(({ id }) => id);
    expect(await listed({ owner: OWNER, limit: 10 })).toEqual(ids);
    expect(await listed({ limit: 10 })).toHaveLength(4);
    expect(await listed({ limit: 2, after: ids[0] })).toEqual(ids.slice(1));
    for (const id of ids) await engine.dropUpload(id);
    expect(await listed({ owner: OWNER, limit: 10 })).toEqual([]);
    const append = engine.append(ids[0] ?? '', 0, { chunks: inChunks(Buffer.from('listed')) });
    await expect(append).rejects.toMatchObject({ kind: 'no_upload' });
    await expect(engine.finish(ids[0] ?? '')).rejects.toMatchObject({ kind: 'no_upload' });
  });

  it('[FILES-42] an upload that begins anew with another size starts at its beginning', async () => {
    const engine = await open();
    const bytes = Buffer.from('the true bytes');
    const sha256 = sha256Of(bytes);
    const id = idOf(sha256);
    await engine.createUpload(id, { sha256, size: 99 });
    await engine.append(id, 0, { chunks: inChunks(Buffer.from('wrong')) });
    expect(await engine.createUpload(id, { sha256, size: bytes.length })).toMatchObject({ offset: 0, size: 14 });
    await engine.append(id, 0, { chunks: inChunks(bytes) });
    expect(await engine.finish(id)).toBe('stored');
  });
}

function writeCases({ open }: FileEngineUnderTest): void {
  const anything = { bytesMax: 3 * MIB, admit: async () => {} };

  it('[FILES-57] bytes are stored under the hash that they turn out to have, empty ones too', async () => {
    const engine = await open();
    for (const bytes of [bytesOf(2 * MIB + 5), Buffer.alloc(0)]) {
      const admitted: unknown[] = [];
      const admit = async (written: unknown) => {
        admitted.push(written);
        expect(await engine.stat(sha256Of(bytes))).toBeNull();
      };
      const stored = await engine.write(inChunks(bytes), { bytesMax: bytes.length, admit });
      expect(stored).toMatchObject({ sha256: sha256Of(bytes), size: bytes.length });
      expect(admitted).toEqual([{ sha256: stored.sha256, size: stored.size }]);
      expect((await readAll(engine, stored.sha256)).equals(bytes)).toBe(true);
    }
    expect(await engine.listUploads({ limit: 10 })).toEqual([]);
  });

  it('[FILES-57] bytes that are not admitted, are too many or break off leave nothing', async () => {
    const engine = await open();
    const bytes = bytesOf(100_000);
    const admit = async () => Promise.reject(new Error('not wanted'));
    await expect(engine.write(inChunks(bytes), { bytesMax: MIB, admit })).rejects.toThrow('not wanted');
    const tooLong = engine.write(inChunks(bytes), { ...anything, bytesMax: bytes.length - 1 });
    await expect(tooLong).rejects.toMatchObject({ kind: 'too_long' });
    await expect(engine.write(thenBreaks(bytes), anything)).rejects.toThrow('the connection broke');
    expect(await engine.list({ limit: 10 })).toEqual([]);
    expect(await engine.listUploads({ limit: 10 })).toEqual([]);
  });

  it('[FILES-57] a write that is under way is listed as an upload, so that one whose process died can be dropped', async () => {
    const engine = await open();
    const bytes = bytesOf(1_000);
    const admit = async () => {
      const [left] = await engine.listUploads({ limit: 10 });
      expect(left).toMatchObject({ offset: 1_000, size: MIB });
    };
    await engine.write(inChunks(bytes), { bytesMax: MIB, admit });
    expect(await engine.listUploads({ limit: 10 })).toEqual([]);
  });
}

function fileCases({ open }: FileEngineUnderTest): void {
  it('[FILES-48] a part of a file is read from its first to its last byte', async () => {
    const engine = await open();
    const bytes = bytesOf(600_000);
    const sha256 = await store(engine, bytes);
    for (const [first, last] of [
      [0, 0],
      [0, 599_999],
      [262_143, 262_145],
      [599_999, 599_999],
    ] as const) {
      expect((await readAll(engine, sha256, { first, last })).equals(bytes.subarray(first, last + 1))).toBe(true);
    }
  });

  it('[FILES-48] a file that is not stored is refused when it is read', async () => {
    const engine = await open();
    await expect(readAll(engine, sha256Of(Buffer.from('nothing')))).rejects.toMatchObject({ kind: 'no_file' });
  });

  it('[FILES-49] files are listed by their hash, page after page', async () => {
    const engine = await open();
    const stored: string[] = [];
    for (let seed = 1; seed <= 7; seed++) stored.push(await store(engine, bytesOf(100, seed)));
    stored.sort();
    const listed: string[] = [];
    for (;;) {
      const page = await engine.list({ after: listed.at(-1), limit: 3 });
      if (page.length === 0) break;
      listed.push(...page.map(({ sha256 }) => sha256));
    }
    expect(listed).toEqual(stored);
  });

  it('[FILES-40] names that are no hashes and ids that are none of uploads never reach a path', async () => {
    const engine = await open();
    for (const name of ['../../etc/passwd', 'AB'.repeat(32), '', 'a'.repeat(63)]) {
      await expect(engine.stat(name)).rejects.toThrow('is not a SHA-256');
      await expect(engine.findUpload(`${OWNER}.${name}/x`)).rejects.toThrow('is not the id of an upload');
    }
  });
}

function removalCases({ open }: FileEngineUnderTest): void {
  it('[FILES-46] a file that nobody wants is removed', async () => {
    const engine = await open();
    const sha256 = await store(engine, bytesOf(1_000));
    await engine.remove(sha256, async () => false);
    expect(await engine.stat(sha256)).toBeNull();
    expect(await engine.list({ limit: 10 })).toEqual([]);
    await engine.remove(sha256, async () => false);
    expect(await engine.unfinishedRemovals()).toEqual([]);
  });

  it('[FILES-46] a file that is wanted again while it is removed is put back', async () => {
    const engine = await open();
    const bytes = bytesOf(1_000);
    const sha256 = await store(engine, bytes);
    await engine.remove(sha256, async () => true);
    expect(await readAll(engine, sha256)).toEqual(bytes);
    expect(await engine.unfinishedRemovals()).toEqual([]);
  });

  it('[FILES-46] a file that is uploaded again while it is removed stays', async () => {
    const engine = await open();
    const bytes = bytesOf(1_000);
    const sha256 = await store(engine, bytes);
    await engine.remove(sha256, async () => {
      await store(engine, bytes);
      return false;
    });
    expect(await readAll(engine, sha256)).toEqual(bytes);
  });

  it('[FILES-46] a removal that a process did not finish is found, and finished later', async () => {
    const engine = await open();
    const bytes = bytesOf(1_000);
    const sha256 = await store(engine, bytes);
    const dies = engine.remove(sha256, async () => {
      throw new Error('killed');
    });
    await expect(dies).rejects.toThrow('killed');
    expect(await engine.unfinishedRemovals()).toEqual([sha256]);
    await engine.remove(sha256, async () => true);
    expect(await readAll(engine, sha256)).toEqual(bytes);
  });
}
