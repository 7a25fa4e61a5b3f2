import { createHash } from 'node:crypto';
import {
  type Appended,
  type ByteRange,
  type FileEngine,
  FileFault,
  type FileUpload,
  isSha256,
  type LinkedFile,
  type ListPosition,
  requireSha256,
  type StoredFile,
  type UploadStart,
  unknownStart,
  type WriteAdmission,
  writeId,
} from '../file-engine.ts';
import { FileAssembly } from './assemble-file.ts';
import { S3Bucket, type S3Options } from './s3-bucket.ts';
import { randomName, S3Uploads } from './s3-uploads.ts';

/** What one request copies and stores at most, without parts. */
export const S3_FILE_BYTES_MAX = 5_368_709_120;
const FORMAT = 1;
const FORMAT_KEY = 'tidemark-files.json';

/** Keeps files in a bucket of S3-compatible storage: `files/<sha256>`, and what is not complete in `uploads/`. */
export async function openS3Engine(options: S3Options): Promise<FileEngine> {
  const bucket = new S3Bucket(options);
  return new S3Engine(bucket, await readId(bucket));
}

/** Reads which place this is, or names it. Of two processes that open a new bucket at once, both read the later name. */
async function readId(bucket: S3Bucket): Promise<string> {
  let text = await bucket.getText(FORMAT_KEY);
  if (text === null) {
    await bucket.put(FORMAT_KEY, Buffer.from(JSON.stringify({ format: FORMAT, id: randomName() })));
    text = await bucket.getText(FORMAT_KEY);
  }
  const { format, id } = JSON.parse(text ?? '{}') as { readonly format?: number; readonly id?: string };
  if (format === FORMAT && id !== undefined) return id;
  throw new Error(`the files in ${bucket.place} have format ${format}, and this version reads format ${FORMAT}`);
}

class S3Engine implements FileEngine {
  readonly id: string;
  readonly #bucket: S3Bucket;
  readonly #uploads: S3Uploads;
  readonly #assembly: FileAssembly;

  constructor(bucket: S3Bucket, id: string) {
    this.id = id;
    this.#bucket = bucket;
    this.#uploads = new S3Uploads(bucket);
    this.#assembly = new FileAssembly(bucket);
  }

  get place(): string {
    return this.#bucket.place;
  }

  async createUpload(id: string, start: UploadStart): Promise<FileUpload> {
    requireSha256(start.sha256);
    return this.#uploads.create(id, start);
  }

  async findUpload(id: string): Promise<FileUpload | null> {
    return this.#uploads.find(id);
  }

  async append(id: string, offset: number, appended: Appended): Promise<number> {
    return this.#uploads.append(id, offset, appended);
  }

  async finish(id: string): Promise<'stored' | 'mismatch'> {
    const upload = await this.#uploads.require(id);
    if (upload.offset !== upload.size) {
      throw new FileFault('wrong_offset', `${upload.offset} of ${upload.size} bytes have arrived`);
    }
    if (await this.#assembly.run(upload, upload.sha256, keyOf(upload.sha256))) return 'stored';
    await this.#uploads.drop(id);
    return 'mismatch';
  }

  async dropUpload(id: string): Promise<void> {
    await this.#uploads.drop(id);
  }

  listUploads(position: ListPosition & { readonly owner?: string | undefined }): Promise<readonly FileUpload[]> {
    return this.#uploads.list(position);
  }

  async write(chunks: AsyncIterable<Uint8Array>, { bytesMax, admit }: WriteAdmission): Promise<StoredFile> {
    const id = writeId(randomName());
    await this.#uploads.announce(id, unknownStart(bytesMax));
    try {
      const hash = createHash('sha256');
      const size = await this.#uploads.append(id, 0, { chunks: hashing(chunks, hash) });
      const sha256 = hash.digest('hex');
      await admit({ sha256, size });
      const upload = { ...(await this.#uploads.require(id)), size };
      if (await this.#assembly.run(upload, sha256, keyOf(sha256))) return { sha256, size, storedMs: upload.changedMs };
      throw new FileFault('unavailable', 'the storage of the files has other bytes than were sent to it');
    } finally {
      await this.#uploads.drop(id);
    }
  }

  async stat(sha256: string): Promise<StoredFile | null> {
    const found = await this.#bucket.head(keyOf(requireSha256(sha256)));
    return found === null ? null : { sha256, size: found.size, storedMs: found.changedMs };
  }

  async *read(sha256: string, range?: ByteRange): AsyncGenerator<Uint8Array> {
    const key = keyOf(requireSha256(sha256));
    if (range !== undefined) return yield* this.#bucket.read(key, range);
    const stored = await this.stat(sha256);
    if (stored === null) throw new FileFault('no_file', 'the file is not stored');
    if (stored.size > 0) yield* this.#bucket.read(key, { first: 0, last: stored.size - 1 });
  }

  async link(sha256: string, { expiresS, type, disposition, caching }: LinkedFile): Promise<string | null> {
    return this.#bucket.presign(keyOf(requireSha256(sha256)), expiresS, {
      'response-content-type': type,
      'response-content-disposition': disposition,
      'response-cache-control': caching,
    });
  }

  async remove(sha256: string, isWanted: () => Promise<boolean>): Promise<void> {
    const key = keyOf(requireSha256(sha256));
    const prefix = `removed/${sha256}.`;
    const aside = `${prefix}${randomName()}`;
    const isAside = await this.#bucket.copy(key, aside);
    if (isAside) await this.#bucket.delete(key);
    const { objects } = await this.#bucket.list(prefix);
    const [first] = objects;
    if (first === undefined) return;
    if ((await isWanted()) && (await this.stat(sha256)) === null) {
      // What an earlier removal has left may be damaged, and a better one came since.
      await this.#bucket.copy(isAside ? aside : first.key, key);
    }
    for (const object of objects) await this.#bucket.delete(object.key);
  }

  async unfinishedRemovals(): Promise<readonly string[]> {
    const { objects } = await this.#bucket.list('removed/');
    const names = objects.map(({ key }) => key.slice('removed/'.length).split('.', 1)[0] ?? '');
    return [...new Set(names)].filter(isSha256);
  }

  async list({ after, limit }: ListPosition): Promise<readonly StoredFile[]> {
    const found: StoredFile[] = [];
    let from = after === undefined ? undefined : keyOf(after);
    for (;;) {
      const { objects, isCut } = await this.#bucket.list('files/', { after: from });
      for (const { key, size, changedMs } of objects) {
        const sha256 = key.slice('files/'.length);
        if (isSha256(sha256)) found.push({ sha256, size, storedMs: changedMs });
      }
      // There may be other names, and pages of nothing else.
      from = objects.at(-1)?.key;
      if (!isCut || from === undefined || found.length >= limit) return found.slice(0, limit);
    }
  }

  async close(): Promise<void> {}
}

function keyOf(sha256: string): string {
  return `files/${sha256}`;
}

async function* hashing(
  chunks: AsyncIterable<Uint8Array>,
  hash: { update(chunk: Uint8Array): unknown },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}
