import { createHash } from 'node:crypto';
import type { S3Bucket } from './s3-bucket.ts';
import type { S3Upload } from './s3-uploads.ts';

/** A part of an object in parts; storages demand at least 5 MiB of all but the last one. */
const PART_BYTES = 8_388_608;
/** Files that are put together at once; each holds one part in memory. */
const ASSEMBLIES_MAX = 8;

/**
 * Makes files of uploads: reads what is stored of an upload, hashes it, and stores it under its hash. A file of several
 * parts exists when they are joined, which happens only after all of them were hashed.
 */
export class FileAssembly {
  readonly #bucket: S3Bucket;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(bucket: S3Bucket) {
    this.#bucket = bucket;
  }

  /** Returns false when the bytes have another hash; there is no file then. */
  async run(upload: Pick<S3Upload, 'parts' | 'size'>, sha256: string, key: string): Promise<boolean> {
    if (this.#running >= ASSEMBLIES_MAX) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    try {
      return await this.#assemble(upload, sha256, key);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  async #assemble(upload: Pick<S3Upload, 'parts' | 'size'>, sha256: string, key: string): Promise<boolean> {
    const hash = createHash('sha256');
    if (upload.size <= PART_BYTES) {
      const [bytes = Buffer.alloc(0)] = await all(this.#partsOf(upload));
      if (hash.update(bytes).digest('hex') !== sha256) return false;
      await this.#bucket.put(key, bytes);
      return true;
    }
    const parts = await this.#bucket.beginParts(key);
    try {
      const tags: string[] = [];
      for await (const bytes of this.#partsOf(upload)) {
        hash.update(bytes);
        tags.push(await this.#bucket.putPart(key, { upload: parts, number: tags.length + 1 }, bytes));
      }
      const isRight = hash.digest('hex') === sha256;
      await (isRight ? this.#bucket.joinParts(key, parts, tags) : this.#bucket.dropParts(key, parts));
      return isRight;
    } catch (error) {
      await this.#bucket.dropParts(key, parts).catch(() => {});
      throw error;
    }
  }

  /** Reads an upload in pieces that are large enough for parts. */
  async *#partsOf({ parts }: Pick<S3Upload, 'parts'>): AsyncGenerator<Buffer<ArrayBuffer>> {
    let gathered: Uint8Array[] = [];
    let length = 0;
    for (const { segment, from, length: size } of parts) {
      for await (const chunk of this.#bucket.read(segment.name, { first: from, last: from + size - 1 })) {
        gathered.push(chunk);
        length += chunk.length;
        while (length >= PART_BYTES) {
          const joined = Buffer.concat(gathered);
          yield joined.subarray(0, PART_BYTES);
          gathered = [joined.subarray(PART_BYTES)];
          length -= PART_BYTES;
        }
      }
    }
    if (length > 0) yield Buffer.concat(gathered);
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
