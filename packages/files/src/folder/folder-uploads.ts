import { createHash, timingSafeEqual } from 'node:crypto';
import { type FileHandle, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type Appended,
  FileFault,
  type FileUpload,
  type ListPosition,
  splitUploadId,
  type UploadStart,
  unknownStart,
} from '../file-engine.ts';
import { joinSegments, lengthOf, type Segment, type SegmentPart } from '../segments.ts';
import { codeOf, makeFolder, randomName, removeFile, syncFolder, writeAll, writeWhole } from './durable.ts';

const START_FILE = 'upload.json';
/** The offset, filled up with zeros, and a random name: no two appends write to the same file. */
const SEGMENT = /^(\d{16})\.[0-9a-f]+$/;
const OFFSET_DIGITS = 16;

/** An upload as it is in its folder. */
export interface FolderUpload extends FileUpload {
  readonly folder: string;
  /** Those that join into its beginning. */
  readonly parts: readonly SegmentPart[];
}

/** The uploads of a folder engine: each is a folder with what was announced, and a file for each append. */
export class FolderUploads {
  readonly #root: string;
  /** Throws when the disk has no room for so many bytes more. */
  readonly #requireRoom: (bytes: number) => Promise<void>;

  constructor(root: string, requireRoom: (bytes: number) => Promise<void>) {
    this.#root = root;
    this.#requireRoom = requireRoom;
  }

  async create(id: string, { sha256, size }: UploadStart): Promise<FolderUpload> {
    const known = await this.find(id);
    if (known !== null && known.sha256 === sha256 && known.size === size) return known;
    if (known !== null) await this.drop(id);
    await this.#requireRoom(size);
    await this.announce(id, { sha256, size });
    return this.require(id);
  }

  /** Keeps what is known of a new upload. */
  async announce(id: string, { sha256, size }: UploadStart): Promise<void> {
    const folder = this.#folderOf(id);
    await makeFolder(this.#root, folder);
    await writeWhole(join(folder, START_FILE), JSON.stringify({ sha256, size }));
  }

  async find(id: string): Promise<FolderUpload | null> {
    const start = await readStart(join(this.#folderOf(id), START_FILE));
    return start === null ? null : this.#describe(id, start);
  }

  async #describe(id: string, start: ReadStart): Promise<FolderUpload> {
    const folder = this.#folderOf(id);
    const segments: Segment[] = [];
    let { changedMs } = start;
    for (const name of await namesIn(folder)) {
      const offset = SEGMENT.exec(name)?.[1];
      const found = offset === undefined ? null : await statOrNull(join(folder, name));
      if (found === null) continue;
      segments.push({ name, offset: Number(offset), size: found.size });
      changedMs = Math.max(changedMs, found.mtimeMs);
    }
    const parts = joinSegments(segments);
    return { id, folder, parts, sha256: start.sha256, size: start.size, offset: lengthOf(parts), changedMs };
  }

  async require(id: string): Promise<FolderUpload> {
    const upload = await this.find(id);
    if (upload === null) throw new FileFault('no_upload', 'there is no such upload');
    return upload;
  }

  /** Makes what the offset counts durable: it may be from a process that died before it did so. */
  async settle({ folder, parts }: FolderUpload): Promise<void> {
    for (const { segment } of parts) {
      const handle = await open(join(folder, segment.name), 'r');
      await handle.datasync().finally(() => handle.close());
    }
    if (parts.length > 0) await syncFolder(folder);
  }

  async append(id: string, offset: number, appended: Appended): Promise<number> {
    const upload = await this.require(id);
    if (offset !== upload.offset) {
      throw new FileFault('wrong_offset', `the upload goes on at ${upload.offset}, not at ${offset}`);
    }
    const { folder } = upload;
    const name = `${String(offset).padStart(OFFSET_DIGITS, '0')}.${randomName()}`;
    // What must have a checksum counts only when it has been found right.
    const path = join(folder, appended.checksum === undefined ? name : `unchecked.${name}`);
    const written = await this.#writeSegment(path, upload.size - offset, appended).catch(async (error: unknown) => {
      // Others may drop an upload at any time.
      if (codeOf(error) === 'ENOENT') throw new FileFault('no_upload', 'the upload was dropped', { cause: error });
      throw error;
    });
    if (appended.checksum !== undefined) await rename(path, join(folder, name));
    await syncFolder(folder);
    return offset + written;
  }

  async drop(id: string): Promise<void> {
    await rm(this.#folderOf(id), { recursive: true, force: true });
  }

  async list({ after = '', limit, owner }: ListPosition & { readonly owner?: string | undefined }) {
    const found: FolderUpload[] = [];
    for (const one of owner === undefined ? await namesIn(this.#root) : [owner]) {
      for (const name of await namesIn(join(this.#root, one))) {
        const id = `${one}.${name}`;
        if (id <= after) continue;
        const upload = (await this.find(id)) ?? (await this.#findRemains(id));
        if (upload !== null) found.push(upload);
        if (found.length >= limit) return found;
      }
    }
    return found;
  }

  /** Returns what a process has left that died while it began or dropped an upload; null: nothing. */
  async #findRemains(id: string): Promise<FolderUpload | null> {
    const folder = await statOrNull(this.#folderOf(id));
    return folder === null ? null : this.#describe(id, { ...unknownStart(0), changedMs: folder.mtimeMs });
  }

  /** Writes a segment and makes it durable, as far as the chunks arrive. */
  async #writeSegment(path: string, bytesMax: number, appended: Appended): Promise<number> {
    const handle = await open(path, 'wx');
    let written = 0;
    let failure: unknown = null;
    try {
      written = await this.#write(handle, bytesMax, appended);
    } catch (error) {
      failure = error;
    }
    const unsynced = await syncAndClose(handle);
    // Bytes that the disk did not take do not count, and neither do those of a failed append with a checksum.
    const isKept = failure === null || (appended.checksum === undefined && !isWrong(failure));
    if (unsynced !== null || !isKept) await removeFile(path);
    await syncFolder(dirname(path));
    const thrown = failure ?? unsynced;
    if (thrown !== null) throw thrown;
    return written;
  }

  async #write(handle: FileHandle, bytesMax: number, { chunks, checksum }: Appended): Promise<number> {
    const hash = checksum === undefined ? null : createHash(checksum.algorithm);
    let written = 0;
    for await (const chunk of chunks) {
      if (written + chunk.length > bytesMax) {
        throw new FileFault('too_long', 'more bytes arrived than the upload announced');
      }
      await this.#requireRoom(chunk.length);
      await writeAll(handle, chunk);
      hash?.update(chunk);
      written += chunk.length;
    }
    if (hash !== null && checksum !== undefined && !isEqual(hash.digest(), checksum.digest)) {
      throw new FileFault('wrong_checksum', 'the bytes do not have the announced checksum');
    }
    return written;
  }

  #folderOf(id: string): string {
    const { owner, name } = splitUploadId(id);
    return join(this.#root, owner, name);
  }
}

/** Returns the error of the disk, if there is one. */
async function syncAndClose(handle: FileHandle): Promise<unknown> {
  try {
    await handle.datasync().finally(() => handle.close());
    return null;
  } catch (error) {
    return error;
  }
}

/** True if the bytes themselves are wrong, so that none of them may stay. */
function isWrong(error: unknown): boolean {
  return error instanceof FileFault && (error.kind === 'too_long' || error.kind === 'wrong_checksum');
}

function isEqual(digest: Buffer, expected: Uint8Array): boolean {
  return digest.length === expected.length && timingSafeEqual(digest, expected);
}

interface ReadStart extends UploadStart {
  readonly changedMs: number;
}

async function readStart(path: string): Promise<ReadStart | null> {
  try {
    const { sha256, size } = JSON.parse(await readFile(path, 'utf8')) as UploadStart;
    const { mtimeMs } = await stat(path);
    return { sha256, size, changedMs: mtimeMs };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

export async function statOrNull(path: string): Promise<{ readonly size: number; readonly mtimeMs: number } | null> {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Returns the names in a folder, sorted; none if there is no such folder. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}
