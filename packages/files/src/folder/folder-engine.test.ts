import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open as openFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileEngineContract, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { afterAll, expect, it, onTestFinished, vi } from 'vitest';
import type { FileEngine } from '../file-engine.ts';
import { openFolderEngine } from './folder-engine.ts';

const folders: TemporaryFolder[] = [];
const newFolder = async () => {
  const folder = await temporaryFolder();
  folders.push(folder);
  return folder.path;
};
const open = async (): Promise<FileEngine> => openFolderEngine({ folder: await newFolder() });

afterAll(async () => {
  for (const folder of folders) await folder.remove();
});

fileEngineContract('the folder engine', { open, openAgain: ({ place }) => openFolderEngine({ folder: place }) });

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function* chunksOf(...chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

it('[FILES-45] a full disk refuses bytes, keeps those before them, and the upload goes on when there is room', async () => {
  let free = 2_500;
  const engine = await openFolderEngine({
    folder: await newFolder(),
    reserveBytes: 1_000,
    freeBytes: async () => free,
  });
  const bytes = Buffer.alloc(1_400, 7);
  const sha256 = sha256Of(bytes);
  const id = `${'ab'.repeat(16)}.${sha256}`;
  await engine.createUpload(id, { sha256, size: bytes.length });
  free = 1_700;
  const refused = engine.append(id, 0, { chunks: chunksOf(bytes.subarray(0, 600), bytes.subarray(600)) });
  await expect(refused).rejects.toMatchObject({ kind: 'full' });
  expect(await engine.findUpload(id)).toMatchObject({ offset: 600 });
  free = 10_000;
  await engine.append(id, 600, { chunks: chunksOf(bytes.subarray(600)) });
  expect(await engine.finish(id)).toBe('stored');
});

it('[FILES-45] an upload that the disk has no room for is refused before its first byte', async () => {
  const engine = await openFolderEngine({ folder: await newFolder(), freeBytes: async () => 999 });
  const sha256 = sha256Of(Buffer.from('large'));
  const create = engine.createUpload(`${'ab'.repeat(16)}.${sha256}`, { sha256, size: 1_000 });
  await expect(create).rejects.toMatchObject({ kind: 'full' });
});

/** The class of open files, whose methods all engines of this process call. */
async function fileHandles(): Promise<FileHandle> {
  const handle = await openFile(await newFolder(), 'r');
  await handle.close();
  onTestFinished(() => void vi.restoreAllMocks());
  return Object.getPrototypeOf(handle) as FileHandle;
}

it('[FILES-41] bytes that the disk could not make durable do not count', async () => {
  const engine = await open();
  const bytes = Buffer.from('written, and never flushed');
  const sha256 = sha256Of(bytes);
  const id = `${'ab'.repeat(16)}.${sha256}`;
  await engine.createUpload(id, { sha256, size: bytes.length });
  const failing = Object.assign(new Error('the disk failed'), { code: 'EIO' });
  vi.spyOn(await fileHandles(), 'datasync').mockRejectedValueOnce(failing);
  const append = () => engine.append(id, 0, { chunks: chunksOf(bytes) });
  await expect(append()).rejects.toMatchObject({ kind: 'unavailable' });
  expect(await engine.findUpload(id)).toMatchObject({ offset: 0 });
  await append();
  expect(await engine.finish(id)).toBe('stored');
});

it('[FILES-41] bytes of a process that died before they were durable are so before they are a file', async () => {
  const engine = await open();
  const bytes = Buffer.from('of a process that died');
  const sha256 = sha256Of(bytes);
  const id = `${'ab'.repeat(16)}.${sha256}`;
  await engine.createUpload(id, { sha256, size: bytes.length });
  const [owner = '', name = ''] = id.split('.');
  await writeFile(join(engine.place, 'uploads', owner, name, `${'0'.repeat(16)}.abcd`), bytes);
  const failing = Object.assign(new Error('the disk failed'), { code: 'EIO' });
  vi.spyOn(await fileHandles(), 'datasync').mockRejectedValueOnce(failing);
  await expect(engine.finish(id)).rejects.toMatchObject({ kind: 'unavailable' });
  expect(await engine.stat(sha256)).toBeNull();
  expect(await engine.finish(id)).toBe('stored');
});

it('[FILES-40] a damaged file is replaced by an upload of the same bytes', async () => {
  const engine = await open();
  const bytes = Buffer.from('a file whose disk forgets');
  const sha256 = sha256Of(bytes);
  const id = `${'ab'.repeat(16)}.${sha256}`;
  const path = join(engine.place, 'files', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
  for (let round = 0; round < 2; round++) {
    await engine.createUpload(id, { sha256, size: bytes.length });
    await engine.append(id, 0, { chunks: chunksOf(bytes) });
    expect(await engine.finish(id)).toBe('stored');
    await engine.dropUpload(id);
    expect(await readFile(path)).toEqual(bytes);
    await writeFile(path, 'x');
  }
});

it('[FILES-40] a process that dies while it puts a file into place leaves nothing that is listed as a file', async () => {
  const engine = await open();
  const sha256 = sha256Of(Buffer.from('never there'));
  const folder = join(engine.place, 'files', sha256.slice(0, 2), sha256.slice(2, 4));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${sha256}.0123456789ab`), 'unfinished');
  expect(await engine.list({ limit: 10 })).toEqual([]);
  expect(await engine.stat(sha256)).toBeNull();
});

it('[FILES-40] a file that is put into place twice has one name, so that nothing of it stays when it is removed', async () => {
  const engine = await open();
  const bytes = Buffer.from('whose last answer was lost');
  const sha256 = sha256Of(bytes);
  const id = `${'ab'.repeat(16)}.${sha256}`;
  await engine.createUpload(id, { sha256, size: bytes.length });
  await engine.append(id, 0, { chunks: chunksOf(bytes) });
  for (let round = 0; round < 2; round++) expect(await engine.finish(id)).toBe('stored');
  await engine.dropUpload(id);
  await engine.remove(sha256, async () => false);
  const names = await readdir(engine.place, { recursive: true, withFileTypes: true });
  expect(names.filter((one) => one.isFile()).map(({ name }) => name)).toEqual(['tidemark-files.json']);
});

it('[FILES-19] an upload that was half begun or half dropped is listed, and is dropped', async () => {
  const engine = await open();
  const id = `${'ab'.repeat(16)}.${sha256Of(Buffer.from('half'))}`;
  const [owner = '', name = ''] = id.split('.');
  const folder = join(engine.place, 'uploads', owner, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${'0'.repeat(16)}.0123456789ab`), 'left behind');
  expect(await engine.findUpload(id)).toBeNull();
  expect(await engine.listUploads({ limit: 10 })).toMatchObject([{ id, offset: 11 }]);
  await engine.dropUpload(id);
  expect(await engine.listUploads({ limit: 10 })).toEqual([]);
  expect(await readdir(join(engine.place, 'uploads', owner))).toEqual([]);
});

it('[FILES-46] what an earlier removal has left is not put in the place of a better file', async () => {
  const engine = await open();
  const bytes = Buffer.from('sent again since');
  const sha256 = sha256Of(bytes);
  await engine.write(chunksOf(bytes), { bytesMax: 100, admit: async () => {} });
  await writeFile(join(engine.place, 'removed', `${sha256}.${'0'.repeat(18)}`), 'damaged');
  await engine.remove(sha256, async () => true);
  const path = join(engine.place, 'files', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
  expect(await readFile(path)).toEqual(bytes);
  expect(await engine.unfinishedRemovals()).toEqual([]);
});

it('[FILES-40] a folder keeps its id, and processes that open a new one at once agree about it', async () => {
  const folder = await newFolder();
  const engines = await Promise.all(Array.from({ length: 5 }, () => openFolderEngine({ folder })));
  const ids = new Set([...engines, await openFolderEngine({ folder })].map(({ id }) => id));
  expect(ids.size).toBe(1);
  expect(await readdir(folder)).toEqual(['files', 'removed', 'tidemark-files.json', 'uploads']);
});
