import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileDirectory } from '../ports/file-directory.ts';
import { storeError } from './store-error.ts';

/** Keeps the bytes of files in a folder (Node.js), each entry in a file that is flushed to the disk. */
export async function openFolderFiles(folder: string): Promise<FileDirectory> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return {
    read: (name) => described(() => readIfThere(join(folder, name))),
    write: (name, bytes) => described(() => writeFlushed(folder, name, bytes)),
    delete: (names) =>
      described(async () => {
        for (const name of names) await rm(join(folder, name), { force: true });
      }),
    list: () => described(() => readdir(folder)),
  };
}

async function readIfThere(path: string): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    return new Uint8Array(await readFile(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Flushes the folder as well, which has the name of the file; Windows does so by itself. */
async function writeFlushed(folder: string, name: string, bytes: Uint8Array): Promise<void> {
  const file = await open(join(folder, name), 'w', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

async function described<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storeError(error);
  }
}
