import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { CHUNK_BYTES } from '../file-engine.ts';
import { randomName, removeFile, writeAll } from './durable.ts';
import type { FolderUpload } from './folder-uploads.ts';

/** A file of the disk that holds exactly the bytes of an upload. */
export interface JoinedUpload {
  readonly path: string;
  readonly sha256: string;
  /** False: the path is a segment of the upload. */
  readonly isCopy: boolean;
}

/**
 * Hashes the bytes of an upload as they are on the disk, and returns the file that holds exactly these. A single segment
 * is such a file, as no append writes to the segment of another one; several are copied.
 */
export async function joinUpload(
  { folder, parts, size }: FolderUpload,
  requireRoom: (bytes: number) => Promise<void>,
): Promise<JoinedUpload> {
  const hash = createHash('sha256');
  const [only] = parts;
  if (only !== undefined && parts.length === 1 && only.from === 0 && only.segment.size === size) {
    const path = join(folder, only.segment.name);
    for await (const chunk of readPart(path, 0, size)) hash.update(chunk);
    return { path, sha256: hash.digest('hex'), isCopy: false };
  }
  await requireRoom(size);
  const path = join(folder, `whole.${randomName()}`);
  const handle = await open(path, 'wx');
  try {
    for (const { segment, from, length } of parts) {
      for await (const chunk of readPart(join(folder, segment.name), from, length)) {
        hash.update(chunk);
        await writeAll(handle, chunk);
      }
    }
    await handle.sync();
  } catch (error) {
    await removeFile(path);
    throw error;
  } finally {
    await handle.close();
  }
  return { path, sha256: hash.digest('hex'), isCopy: true };
}

async function* readPart(path: string, from: number, length: number): AsyncGenerator<Buffer> {
  if (length === 0) return;
  const handle = await open(path, 'r');
  const range = { start: from, end: from + length - 1 };
  yield* handle.createReadStream({ ...range, highWaterMark: CHUNK_BYTES });
}
