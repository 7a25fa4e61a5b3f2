import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FileFault } from '../file-engine.ts';

const RANDOM_BYTES = 9;

/** Returns a name that no other process chooses. */
export function randomName(): string {
  return randomBytes(RANDOM_BYTES).toString('hex');
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

/** Makes names that were added to a folder, or removed from it, survive a loss of power. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a folder and those above it, down to and without `root`, which exists. They survive a loss of power. */
export async function makeFolder(root: string, folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length > root.length; made = dirname(made)) await syncFolder(dirname(made));
}

/** Writes a small file whole or not at all. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  const unnamed = join(folder, `new.${randomName()}`);
  const handle = await open(unnamed, 'wx');
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(unnamed, path);
  await syncFolder(folder);
}

/** Writes all bytes: the system may take fewer at once. */
export async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
}

/** Removes a file, if it is there. */
export async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const UNAVAILABLE: ReadonlySet<string | undefined> = new Set(['EIO', 'EROFS', 'ESTALE', 'ETIMEDOUT', 'EACCES']);

/** Turns an error of the disk into a fault; others stay what they are. */
export function faultOf(error: unknown): unknown {
  const code = codeOf(error);
  if (FULL.has(code)) return new FileFault('full', 'the disk of the files is full', { cause: error });
  if (UNAVAILABLE.has(code)) return new FileFault('unavailable', 'the disk of the files failed', { cause: error });
  return error;
}
