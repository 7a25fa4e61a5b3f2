import { link, mkdir, open, readFile, rename, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import {
  type Appended,
  type ByteRange,
  CHUNK_BYTES,
  type FileEngine,
  FileFault,
  type FileUpload,
  isSha256,
  type ListPosition,
  requireSha256,
  type StoredFile,
  type UploadStart,
  unknownStart,
  type WriteAdmission,
  writeId,
} from '../file-engine.ts';
import { codeOf, faultOf, makeFolder, randomName, removeFile, syncFolder, writeWhole } from './durable.ts';
import { FolderUploads, namesIn, statOrNull } from './folder-uploads.ts';
import { type JoinedUpload, joinUpload } from './join-upload.ts';

/** How often an append asks how much room the disk has. */
const ROOM_CHECK_BYTES = 16_777_216;
const FORMAT = 1;
const FORMAT_FILE = 'tidemark-files.json';

export interface FolderEngineOptions {
  readonly folder: string;
  /** So many bytes of the disk stay free for everything else. */
  readonly reserveBytes?: number;
  /** Returns the free bytes of the disk. Absent: asks the system. */
  readonly freeBytes?: (folder: string) => Promise<number>;
}

/** Keeps files in a folder: `files/ab/cd/<sha256>`, and what is not complete in `uploads`. */
export async function openFolderEngine(options: FolderEngineOptions): Promise<FileEngine> {
  const folder = resolve(options.folder);
  try {
    await mkdir(folder, { recursive: true });
    for (const name of ['files', 'uploads', 'removed']) await makeFolder(folder, join(folder, name));
    const engine = new FolderEngine(folder, await readId(folder), options);
    return engine;
  } catch (error) {
    throw faultOf(error);
  }
}

/** Reads which place this is, or names it. Two processes that open a new folder at once agree, as the second one reads again. */
async function readId(folder: string): Promise<string> {
  const path = join(folder, FORMAT_FILE);
  const known = await readText(path);
  if (known === null) {
    const unnamed = join(folder, `${randomName()}.json`);
    await writeWhole(unnamed, JSON.stringify({ format: FORMAT, id: randomName() }));
    await link(unnamed, path).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
    await removeFile(unnamed);
    await syncFolder(folder);
  }
  const { format, id } = JSON.parse(known ?? (await readFile(path, 'utf8'))) as { format: number; id: string };
  if (format !== FORMAT) {
    throw new Error(`the files in ${folder} have format ${format}, and this version reads format ${FORMAT}`);
  }
  return id;
}

async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

class FolderEngine implements FileEngine {
  readonly id: string;
  readonly place: string;
  readonly #files: string;
  readonly #removed: string;
  readonly #uploads: FolderUploads;
  readonly #reserveBytes: number;
  readonly #freeBytes: (folder: string) => Promise<number>;
  /** Bytes that may be written before the disk is asked again. */
  #knownRoom = 0;

  constructor(folder: string, id: string, { reserveBytes = 0, freeBytes = freeBytesAt }: FolderEngineOptions) {
    this.id = id;
    this.place = folder;
    this.#files = join(folder, 'files');
    this.#removed = join(folder, 'removed');
    this.#uploads = new FolderUploads(join(folder, 'uploads'), this.#requireRoom);
    this.#reserveBytes = reserveBytes;
    this.#freeBytes = freeBytes;
  }

  createUpload(id: string, start: UploadStart): Promise<FileUpload> {
    requireSha256(start.sha256);
    return ofDisk(this.#uploads.create(id, start));
  }

  findUpload(id: string): Promise<FileUpload | null> {
    const settled = async () => {
      const upload = await this.#uploads.find(id);
      if (upload !== null) await this.#uploads.settle(upload);
      return upload;
    };
    return ofDisk(settled());
  }

  append(id: string, offset: number, appended: Appended): Promise<number> {
    return ofDisk(this.#uploads.append(id, offset, appended));
  }

  finish(id: string): Promise<'stored' | 'mismatch'> {
    return ofDisk(this.#finish(id));
  }

  dropUpload(id: string): Promise<void> {
    return ofDisk(this.#uploads.drop(id));
  }

  listUploads(position: ListPosition & { readonly owner?: string | undefined }): Promise<readonly FileUpload[]> {
    return ofDisk(this.#uploads.list(position));
  }

  async write(chunks: AsyncIterable<Uint8Array>, admission: WriteAdmission): Promise<StoredFile> {
    const sha256 = await ofDisk(this.#write(writeId(randomName()), chunks, admission));
    const stored = await this.stat(sha256);
    if (stored === null) throw new FileFault('no_file', 'the file was removed as soon as it was stored');
    return stored;
  }

  async stat(sha256: string): Promise<StoredFile | null> {
    const found = await ofDisk(statOrNull(this.#pathOf(sha256)));
    return found === null ? null : { sha256, size: found.size, storedMs: found.mtimeMs };
  }

  async *read(sha256: string, range?: ByteRange): AsyncGenerator<Uint8Array> {
    const handle = await open(this.#pathOf(sha256), 'r').catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') throw new FileFault('no_file', 'the file is not stored');
      throw faultOf(error);
    });
    const part = { start: range?.first ?? 0, end: range?.last ?? Number.POSITIVE_INFINITY };
    try {
      yield* handle.createReadStream({ ...part, highWaterMark: CHUNK_BYTES, autoClose: false });
    } catch (error) {
      throw faultOf(error);
    } finally {
      await handle.close();
    }
  }

  async link(): Promise<null> {
    return null;
  }

  async remove(sha256: string, isWanted: () => Promise<boolean>): Promise<void> {
    const path = this.#pathOf(sha256);
    const aside = join(this.#removed, `${sha256}.${randomName()}`);
    const isAside = await ofDisk(renameIfThere(path, aside));
    const others = (await ofDisk(namesIn(this.#removed))).filter((name) => name.startsWith(sha256));
    if (!isAside && others.length === 0) return;
    if ((await isWanted()) && (await this.stat(sha256)) === null) {
      // What an earlier removal has left may be damaged, and a better one came since.
      const newest = isAside ? aside : join(this.#removed, others[0] ?? '');
      await ofDisk(this.#putBack(newest, path));
    }
    for (const name of others) await ofDisk(removeFile(join(this.#removed, name)));
  }

  async unfinishedRemovals(): Promise<readonly string[]> {
    const names = await ofDisk(namesIn(this.#removed));
    return [...new Set(names.map((name) => name.split('.', 1)[0] ?? ''))].filter(isSha256);
  }

  async list({ after = '', limit }: ListPosition): Promise<readonly StoredFile[]> {
    const found: StoredFile[] = [];
    for (const first of await ofDisk(namesIn(this.#files))) {
      if (first < after.slice(0, 2)) continue;
      for (const second of await ofDisk(namesIn(join(this.#files, first)))) {
        if (first + second < after.slice(0, 4)) continue;
        await this.#listInto(found, join(this.#files, first, second), { after, limit });
        if (found.length >= limit) return found;
      }
    }
    return found;
  }

  async close(): Promise<void> {}

  async #listInto(found: StoredFile[], folder: string, { after = '', limit }: ListPosition): Promise<void> {
    for (const name of await ofDisk(namesIn(folder))) {
      // A file that is being put into place has a longer name.
      if (name.length !== 64 || name <= after) continue;
      const stored = await this.stat(name);
      if (stored !== null) found.push(stored);
      if (found.length >= limit) return;
    }
  }

  async #finish(id: string): Promise<'stored' | 'mismatch'> {
    const upload = await this.#uploads.require(id);
    if (upload.offset !== upload.size) {
      throw new FileFault('wrong_offset', `${upload.offset} of ${upload.size} bytes have arrived`);
    }
    const joined = await joinUpload(upload, this.#requireRoom);
    if (joined.sha256 !== upload.sha256) {
      await this.#uploads.drop(id);
      return 'mismatch';
    }
    // The process that wrote the last bytes may have died before they were durable.
    if (!joined.isCopy) await this.#uploads.settle(upload);
    await this.#place(joined);
    return 'stored';
  }

  async #write(id: string, chunks: AsyncIterable<Uint8Array>, { bytesMax, admit }: WriteAdmission): Promise<string> {
    await this.#uploads.announce(id, unknownStart(bytesMax));
    try {
      const size = await this.#uploads.append(id, 0, { chunks });
      const joined = await joinUpload({ ...(await this.#uploads.require(id)), size }, this.#requireRoom);
      await admit({ sha256: joined.sha256, size });
      await this.#place(joined);
      return joined.sha256;
    } finally {
      await this.#uploads.drop(id);
    }
  }

  /**
   * Puts a file where its hash says. One that is there already is replaced: it may have been damaged since. Until then it is
   * in the folder of the upload, where a second name is left when the file in place is the same one, and goes with it.
   */
  async #place({ path, sha256, isCopy }: JoinedUpload): Promise<void> {
    const target = this.#pathOf(sha256);
    await makeFolder(this.#files, dirname(target));
    const own = isCopy ? path : join(dirname(path), `placed.${randomName()}`);
    if (!isCopy) await link(path, own);
    await rename(own, target);
    await syncFolder(dirname(target));
  }

  async #putBack(aside: string, path: string): Promise<void> {
    await makeFolder(this.#files, dirname(path));
    if (await renameIfThere(aside, path)) await syncFolder(dirname(path));
  }

  /** The last process to ask about a nearly full disk is told; between two questions some bytes are simply written. */
  readonly #requireRoom = async (bytes: number): Promise<void> => {
    if (bytes <= this.#knownRoom) {
      this.#knownRoom -= bytes;
      return;
    }
    const free = (await this.#freeBytes(this.place)) - this.#reserveBytes;
    if (free < bytes) throw new FileFault('full', 'the disk of the files has no room for more');
    this.#knownRoom = Math.min(ROOM_CHECK_BYTES, free - bytes);
  };

  #pathOf(sha256: string): string {
    requireSha256(sha256);
    return join(this.#files, sha256.slice(0, 2), sha256.slice(2, 4), sha256);
  }
}

async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

async function renameIfThere(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Waits for the disk, and turns its errors into faults. */
async function ofDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw faultOf(error);
  }
}
