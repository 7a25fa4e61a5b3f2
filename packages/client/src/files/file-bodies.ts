import { clientError } from '../client-error.ts';
import { FILE_ORPHAN_MS, FILE_PIECE_BYTES } from '../limits.ts';
import type { FileDirectory } from '../ports/file-directory.ts';
import type { Platform } from '../ports/platform.ts';
import type { FileRow } from '../state/file-rows.ts';
import { randomId } from '../uploads/random-id.ts';

/** Names of entries: when the body was begun, in base 36, a random id, and the number of the entry. */
const ENTRY = /^([0-9a-z]+)-[0-9a-f]+(?=\.)/;

/** The bytes of a file that are complete. */
export type FileBody = Pick<FileRow, 'body' | 'size' | 'entryBytes'>;

/**
 * The bytes of files, in a directory. Those of one file are its body: entries of the same size, of which the last one may be shorter.
 * A body has a name of its own, because its hash is known at its end.
 */
export class FileBodies {
  readonly #directory: FileDirectory;
  readonly #platform: Platform;
  /** What is being written. */
  readonly #writing = new Set<Promise<void>>();

  constructor(directory: FileDirectory, platform: Platform) {
    this.#directory = directory;
    this.#platform = platform;
  }

  /** Returns the name for a body. */
  newBody(): string {
    return `${this.#platform.nowMs().toString(36)}-${randomId(this.#platform)}`;
  }

  /** The most bytes of an entry. */
  get entryBytes(): number {
    return this.#directory.entryBytes ?? FILE_PIECE_BYTES;
  }

  async write(body: string, entry: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const writing = this.#directory.write(entryOf(body, entry), bytes);
    this.#writing.add(writing);
    try {
      await writing;
    } finally {
      this.#writing.delete(writing);
    }
  }

  /** Returns the bytes of a file from a position to the end of their entry. */
  async read({ body, size, entryBytes = FILE_PIECE_BYTES }: FileBody, at: number): Promise<Uint8Array<ArrayBuffer>> {
    const entry = Math.floor(at / entryBytes);
    const from = entry * entryBytes;
    const bytes = await this.#directory.read(entryOf(body, entry));
    if (bytes?.length === Math.min(entryBytes, size - from)) return bytes.subarray(at - from);
    throw clientError('store_damaged', 'bytes of the file are missing on this device');
  }

  /** Yields the bytes of a file. */
  async *pieces(row: FileBody): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for (let at = 0; at < row.size; ) {
      const bytes = await this.read(row, at);
      at += bytes.length;
      yield bytes;
    }
  }

  /** Whether a body that was just written is still there: `deleteAll` takes the first entry of every body. */
  async has({ body, size }: FileBody): Promise<boolean> {
    const [directory, first] = [this.#directory, entryOf(body, 0)];
    if (size === 0) return true;
    return directory.has === undefined ? (await directory.read(first)) !== null : directory.has(first);
  }

  /** Deletes bodies, of which each has at most so many bytes. */
  async delete(bodies: readonly FileBody[]): Promise<void> {
    const names = bodies.flatMap(({ body, size, entryBytes = FILE_PIECE_BYTES }) =>
      Array.from({ length: Math.ceil(size / entryBytes) }, (_, entry) => entryOf(body, entry)),
    );
    if (names.length > 0) await this.#directory.delete(names);
  }

  /** Deletes what was begun a while ago and belongs to no file, because the process died. */
  async deleteOrphans(isKnown: (body: string) => boolean): Promise<void> {
    const beforeMs = this.#platform.nowMs() - FILE_ORPHAN_MS;
    const orphans = (await this.#directory.list()).filter((name) => {
      const [body = '', begunAt = ''] = ENTRY.exec(name) ?? [];
      return body !== '' && !isKnown(body) && Number.parseInt(begunAt, 36) < beforeMs;
    });
    if (orphans.length > 0) await this.#directory.delete(orphans);
  }

  /** Deletes everything, also what is just being written. */
  async deleteAll(): Promise<void> {
    // Not `allSettled`, which React Native has only in new versions.
    await Promise.all(Array.from(this.#writing, (writing) => writing.catch(() => undefined)));
    await this.#directory.delete(await this.#directory.list());
  }
}

/** What there may be of a file that is perhaps not complete, whatever size its reference says. */
export function writtenBody(row: FileRow): FileBody {
  return { ...row, size: Math.min(row.size, row.bytes + FILE_PIECE_BYTES) };
}

function entryOf(body: string, entry: number): string {
  return `${body}.${entry}`;
}
