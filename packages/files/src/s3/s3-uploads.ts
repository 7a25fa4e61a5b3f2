import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
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
import type { S3Bucket } from './s3-bucket.ts';
import type { ListedObject } from './s3-xml.ts';

/** Bytes of an upload that are gathered in memory before they are stored. */
const SEGMENT_BYTES = 2_097_152;
const START = 'start';
const SEGMENT = /^segments\/(\d{16})\.[0-9a-f]+$/;
const OFFSET_DIGITS = 16;
const RANDOM_BYTES = 9;

/** An upload as it is in the bucket. */
export interface S3Upload extends FileUpload {
  /** Those that join into its beginning, named by their keys. */
  readonly parts: readonly SegmentPart[];
}

/** The uploads of an S3 engine: each is an object with what was announced, and an object for each gathered piece. */
export class S3Uploads {
  readonly #bucket: S3Bucket;

  constructor(bucket: S3Bucket) {
    this.#bucket = bucket;
  }

  async create(id: string, start: UploadStart): Promise<S3Upload> {
    const known = await this.find(id);
    if (known !== null && known.sha256 === start.sha256 && known.size === start.size) return known;
    if (known !== null) await this.drop(id);
    await this.announce(id, start);
    return this.require(id);
  }

  /** Keeps what is known of a new upload. */
  announce(id: string, { sha256, size }: UploadStart): Promise<void> {
    return this.#bucket.put(`${folderOf(id)}${START}`, Buffer.from(JSON.stringify({ sha256, size })));
  }

  async find(id: string): Promise<S3Upload | null> {
    const text = await this.#bucket.getText(`${folderOf(id)}${START}`);
    if (text === null) return null;
    return this.#describe(id, JSON.parse(text) as UploadStart);
  }

  async require(id: string): Promise<S3Upload> {
    const upload = await this.find(id);
    if (upload === null) throw noUpload();
    return upload;
  }

  async append(id: string, offset: number, appended: Appended): Promise<number> {
    const upload = await this.require(id);
    if (offset !== upload.offset) {
      throw new FileFault('wrong_offset', `the upload goes on at ${upload.offset}, not at ${offset}`);
    }
    const keys: string[] = [];
    try {
      const written = await this.#writeSegments(id, { offset, bytesMax: upload.size - offset }, appended, keys);
      // Another process may have dropped the upload, whose segments would then stay for ever.
      if ((await this.#bucket.head(`${folderOf(id)}${START}`)) === null) throw noUpload();
      if (appended.checksum !== undefined) await this.#count(keys);
      return offset + written;
    } catch (error) {
      const isKept = appended.checksum === undefined && !isWrong(error);
      if (!isKept) for (const key of keys) await this.#bucket.delete(key).catch(() => {});
      throw error;
    }
  }

  /** What was announced goes last, so that a process that dies before leaves an upload that is listed. */
  async drop(id: string): Promise<void> {
    const folder = folderOf(id);
    const keys = (await this.#objectsOf(id)).map(({ key }) => key);
    for (const key of keys) if (key !== `${folder}${START}`) await this.#bucket.delete(key);
    await this.#bucket.delete(`${folder}${START}`);
  }

  async list({ after, limit, owner }: ListPosition & { readonly owner?: string | undefined }) {
    const found: S3Upload[] = [];
    // The character behind the slash: what follows are the keys of later uploads.
    let from = after === undefined ? undefined : `uploads/${after}0`;
    const prefix = owner === undefined ? 'uploads/' : `uploads/${owner}.`;
    for (;;) {
      const { groups, isCut } = await this.#bucket.list(prefix, { after: from, delimiter: '/' });
      for (const group of groups) {
        const id = group.slice('uploads/'.length, -1);
        found.push((await this.find(id)) ?? (await this.#describe(id, unknownStart(0))));
        if (found.length >= limit) return found;
      }
      const last = groups.at(-1);
      if (!isCut || last === undefined) return found;
      from = `${last.slice(0, -1)}0`;
    }
  }

  async #describe(id: string, { sha256, size }: UploadStart): Promise<S3Upload> {
    const objects = await this.#objectsOf(id);
    const parts = joinSegments(objects.flatMap((object) => segmentOf(id, object)));
    const changedMs = objects.reduce((latest, object) => Math.max(latest, object.changedMs), 0);
    return { id, parts, sha256, size, offset: lengthOf(parts), changedMs };
  }

  async #objectsOf(id: string): Promise<readonly ListedObject[]> {
    const found: ListedObject[] = [];
    for (;;) {
      const { objects, isCut } = await this.#bucket.list(folderOf(id), { after: found.at(-1)?.key });
      found.push(...objects);
      if (!isCut || objects.length === 0) return found;
    }
  }

  /** Stores bytes in segments, as far as the chunks arrive. The keys are those that were stored. */
  async #writeSegments(
    id: string,
    { offset, bytesMax }: { readonly offset: number; readonly bytesMax: number },
    { chunks, checksum }: Appended,
    keys: string[],
  ): Promise<number> {
    const hash = checksum === undefined ? null : createHash(checksum.algorithm);
    const folder = `${folderOf(id)}${checksum === undefined ? 'segments' : 'unchecked'}/`;
    const gathered = new Gathered();
    let stored = 0;
    const store = async () => {
      const bytes = gathered.take();
      if (bytes.length === 0) return;
      const key = `${folder}${String(offset + stored).padStart(OFFSET_DIGITS, '0')}.${randomName()}`;
      keys.push(key);
      await this.#bucket.put(key, bytes).catch(async (error: unknown) => {
        // The storage may have something, and perhaps not what was sent.
        await this.#bucket.delete(key).catch(() => {});
        throw error;
      });
      stored += bytes.length;
    };
    try {
      for await (const chunk of chunks) {
        if (stored + gathered.length + chunk.length > bytesMax) {
          throw new FileFault('too_long', 'more bytes arrived than the upload announced');
        }
        hash?.update(chunk);
        gathered.add(chunk);
        if (gathered.length >= SEGMENT_BYTES) await store();
      }
    } catch (error) {
      // What arrived before a break is kept.
      if (checksum === undefined && !(error instanceof FileFault)) await store();
      throw error;
    }
    await store();
    if (hash !== null && checksum !== undefined && !isEqual(hash.digest(), checksum.digest)) {
      throw new FileFault('wrong_checksum', 'the bytes do not have the announced checksum');
    }
    return stored;
  }

  /** Lets segments count whose checksum was found right. */
  async #count(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      await this.#bucket.copy(key, key.replace('/unchecked/', '/segments/'));
      await this.#bucket.delete(key);
    }
  }
}

/** Chunks that become one object. */
class Gathered {
  #chunks: Uint8Array[] = [];
  length = 0;

  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.length += chunk.length;
  }

  take(): Buffer<ArrayBuffer> {
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.length = 0;
    return bytes;
  }
}

export function randomName(): string {
  return randomBytes(RANDOM_BYTES).toString('hex');
}

function folderOf(id: string): string {
  const { owner, name } = splitUploadId(id);
  return `uploads/${owner}.${name}/`;
}

function segmentOf(id: string, { key, size }: ListedObject): readonly Segment[] {
  const offset = SEGMENT.exec(key.slice(folderOf(id).length))?.[1];
  return offset === undefined ? [] : [{ name: key, offset: Number(offset), size }];
}

function isEqual(digest: Buffer, expected: Uint8Array): boolean {
  return digest.length === expected.length && timingSafeEqual(digest, expected);
}

/** True if the bytes themselves are wrong, or nobody wants them, so that none of them may stay. */
function isWrong(error: unknown): boolean {
  return error instanceof FileFault && error.kind !== 'unavailable';
}

function noUpload(): FileFault {
  return new FileFault('no_upload', 'there is no such upload');
}
