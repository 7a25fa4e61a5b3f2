import { clientError } from '../client-error.ts';
import { FILE_ORPHAN_MS, FILE_PIECE_BYTES } from '../limits.ts';
import type { FileDirectory } from '../ports/file-directory.ts';
import type { Platform } from '../ports/platform.ts';
import type { FileRow } from '../state/file-rows.ts';
import { randomId } from '../uploads/random-id.ts';

/** Names of entries: when the body was begun, in base 36, a random id, and the number of the piece. */
const ENTRY = /^([0-9a-z]+)-[0-9a-f]+(?=\.)/;

/** The bytes of a file that are complete. */
export type FileBody = Pick<FileRow, 'body' | 'size'>;

/**
 * The bytes of files, in a directory. Those of one file are its body: entries of `FILE_PIECE_BYTES`, of which the last one may be
 * shorter. A body has a name of its own, because its hash is known at its end.
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

  async write(body: string, piece: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const writing = this.#directory.write(entryOf(body, piece), bytes);
    this.#writing.add(writing);
    try {
      await writing;
    } finally {
      this.#writing.delete(writing);
    }
  }

  /** Returns a piece of a file. */
  async read({ body, size }: FileBody, piece: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = await this.#directory.read(entryOf(body, piece));
    if (bytes?.length === Math.min(FILE_PIECE_BYTES, size - piece * FILE_PIECE_BYTES)) return bytes;
    throw clientError('store_damaged', 'bytes of the file are missing on this device');
  }

  /** Yields the pieces of a file. */
  async *pieces(row: FileBody): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for (let piece = 0; piece < pieceCount(row.size); piece++) yield await this.read(row, piece);
  }

  /** Whether a body that was just written is still there: `deleteAll` takes the first piece of every body. */
  async has({ body, size }: FileBody): Promise<boolean> {
    return size === 0 || (await this.#directory.read(entryOf(body, 0))) !== null;
  }

  /** Deletes bodies, of which each has at most so many bytes. */
  async delete(bodies: readonly FileBody[]): Promise<void> {
    const names = bodies.flatMap(({ body, size }) =>
      Array.from({ length: pieceCount(size) }, (_, piece) => entryOf(body, piece)),
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
    await Promise.allSettled(this.#writing);
    await this.#directory.delete(await this.#directory.list());
  }
}

/** The pieces that there may be of a file that is not complete, whatever size its reference says. */
export function writtenBody({ body, size, bytes }: FileRow): FileBody {
  return { body, size: Math.min(size, bytes + FILE_PIECE_BYTES) };
}

export function pieceCount(bytes: number): number {
  return Math.ceil(bytes / FILE_PIECE_BYTES);
}

function entryOf(body: string, piece: number): string {
  return `${body}.${piece}`;
}
