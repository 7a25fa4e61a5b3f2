import {
  FILE_NAME_BYTES_MAX,
  type FileReference,
  type FileValue,
  fileNameProblem,
  isMediaType,
} from '@tidemark/protocol';
import { asClientError, clientError } from '../client-error.ts';
import type { DeviceHost } from '../engine/device-host.ts';
import { DATA_URL_BYTES_MAX } from '../limits.ts';
import { FILES, type FileRow, fileRow } from '../state/file-rows.ts';
import { isSameUser, type User, writerOf } from '../state/owner.ts';
import type { FileBodies } from './file-bodies.ts';
import { type FileContent, isBlob, piecesOf } from './file-content.ts';
import { FileHash } from './file-hash.ts';
import { type AddedFile, type FileCommands, openBodies } from './file-library.ts';

export interface NewFile {
  /** A media type such as `image/jpeg`. Default: that of a `Blob`, or `application/octet-stream`. */
  readonly type?: string;
  /** What people call the file. Default: that of a `File`. */
  readonly name?: string;
}

/** An address that shows a file, until it is released. */
export interface FileUrl {
  readonly url: string;
  /** Frees the memory that the address holds. */
  release(): void;
}

const ANY_TYPE = 'application/octet-stream';
/** Types in which browsers run no scripts as a page of the app: SVG and every XML can have some. Browsers ignore case. */
const SHOWN = /^(?:(?:image|video|audio)\/(?!.*(?:svg|xml))|application\/pdf$)/i;

/** Adds and reads files in this tab: their bytes go to the store directly, whichever tab leads. */
export class FileAccess {
  readonly #host: DeviceHost;
  readonly #bodies: FileBodies;
  readonly #urls = new Set<string>();

  private constructor(host: DeviceHost, bodies: FileBodies) {
    this.#host = host;
    this.#bodies = bodies;
    // Files of a user who has left are not shown any more, nor those of a device that is closed.
    host.listeners.status.add(() => {
      const isUsed = host.replica.reader.get('facts', FILES) === 'used';
      if (!isUsed || host.role.status.mode === 'stopped') this.#releaseAll();
    });
  }

  static async open(host: DeviceHost): Promise<FileAccess> {
    return new FileAccess(host, await openBodies(host));
  }

  async add(content: FileContent, given: NewFile): Promise<FileValue> {
    const described = describe(content, given);
    const writer = writerOf(this.#host.replica.reader);
    if (this.#host.replica.reader.get('facts', FILES) !== 'used') await this.#run('begin');
    const [body, entryBytes] = [this.#bodies.newBody(), this.#bodies.entryBytes];
    let size = 0;
    let isAsked = false;
    try {
      const hash = new FileHash(this.#host.platform);
      for await (const piece of piecesOf(content, entryBytes)) {
        this.#requireSame(writer);
        // Counted before, so that a piece that is written in part is deleted as well.
        size += piece.length;
        const entry = Math.ceil(size / entryBytes) - 1;
        await Promise.all([this.#bodies.write(body, entry, piece), hash.update(piece)]);
      }
      const sha256 = await hash.hex();
      const usedAtMs = this.#host.platform.nowMs();
      const row: FileRow = { size, ...described, body, entryBytes, bytes: size, usedAtMs };
      const added: AddedFile = { sha256, row, writer };
      isAsked = true;
      const isTaken = (await this.#run('keep', added)) !== false;
      // The file is there already. Bytes that stay behind are deleted later.
      if (!isTaken) await this.#bodies.delete([row]).catch(() => undefined);
      return { $file: { sha256, size, ...described } };
    } catch (error) {
      if (!isAsked || this.#isRefused(error))
        await this.#bodies.delete([{ body, size, entryBytes }]).catch(() => undefined);
      throw error;
    }
  }

  /** Yields the bytes of a file. What is not on the device is fetched. */
  async *pieces(reference: FileReference): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    let row = await this.#complete(reference);
    for (let at = 0; at < row.size; ) {
      const read = await this.#read(reference, row, at);
      row = read.row;
      at += read.bytes.length;
      yield read.bytes;
    }
  }

  async blob(reference: FileReference): Promise<Blob> {
    return this.#blob(reference, reference.type);
  }

  async url(reference: FileReference): Promise<FileUrl> {
    const type = SHOWN.test(reference.type) ? reference.type : ANY_TYPE;
    if (typeof globalThis.URL.createObjectURL !== 'function') return this.#dataUrl(reference, type);
    const user = writerOf(this.#host.replica.reader);
    const blob = await this.#blob(reference, type);
    this.#requireSame(user);
    const url = globalThis.URL.createObjectURL(blob);
    this.#urls.add(url);
    return { url, release: () => this.#release(url) };
  }

  #releaseAll(): void {
    for (const url of this.#urls) this.#release(url);
  }

  #release(url: string): void {
    if (this.#urls.delete(url)) globalThis.URL.revokeObjectURL(url);
  }

  /** Browsers put the bytes of a blob aside, so that the script never has more than a piece. */
  async #blob(reference: FileReference, type: string): Promise<Blob> {
    let blob = new Blob([], { type });
    for await (const piece of this.pieces(reference)) blob = new Blob([blob, piece], { type });
    return blob;
  }

  /** For platforms without addresses of blobs, such as React Native. */
  async #dataUrl(reference: FileReference, type: string): Promise<FileUrl> {
    if (reference.size > DATA_URL_BYTES_MAX) {
      const detail = `this platform shows files of up to ${DATA_URL_BYTES_MAX} bytes, and this one has ${reference.size}`;
      throw clientError('files_unsupported', detail);
    }
    let text = '';
    for await (const piece of this.pieces(reference)) {
      for (let at = 0; at < piece.length; at += 8_192) text += String.fromCharCode(...piece.subarray(at, at + 8_192));
    }
    return { url: `data:${type};base64,${btoa(text)}`, release: () => undefined };
  }

  /** Returns the row of a file whose bytes are all there. */
  async #complete(reference: FileReference): Promise<FileRow> {
    const { sha256 } = reference;
    const find = () => {
      const row = fileRow(this.#host.replica.reader, sha256);
      return row !== undefined && row.bytes === row.size ? row : null;
    };
    const known = find();
    if (known !== null) {
      // Only the cache needs it.
      this.#run('noteUsed', sha256).catch(() => undefined);
      return known;
    }
    if (this.#host.replica.reader.get('facts', FILES) !== 'used') await this.#run('begin');
    await this.#run('fetch', reference);
    const fetched = find();
    if (fetched === null) throw clientError('store_failed', 'the file has left the cache already; try again');
    return fetched;
  }

  /** Reads the bytes at a position. The file may leave the cache while it is read, or its bytes may be damaged: then it is fetched again. */
  async #read(reference: FileReference, row: FileRow, at: number) {
    try {
      return { row, bytes: await this.#bodies.read(row, at) };
    } catch (error) {
      if (asClientError(error, 'store_failed').code !== 'store_damaged') throw error;
      // A tab that follows knows after an answer of the one that leads what has left.
      await this.#run('forget', reference.sha256, row.body);
      if (fileRow(this.#host.replica.reader, reference.sha256)?.body === row.body) throw error;
      const again = await this.#complete(reference);
      return { row: again, bytes: await this.#bodies.read(again, at) };
    }
  }

  /**
   * Whether the device has surely not kept a file. If the tab that leads has not answered, it may have: bytes that belong to no file
   * are deleted later.
   */
  #isRefused(error: unknown): boolean {
    const { code } = asClientError(error, 'store_failed');
    return code === 'signed_out' || (code === 'store_failed' && this.#host.role.status.tab !== 'follower');
  }

  #run<C extends keyof FileCommands>(name: C, ...args: Parameters<FileCommands[C]>): Promise<unknown> {
    return this.#host.run('files', name, ...args);
  }

  #requireSame(writer: User): void {
    if (isSameUser(writerOf(this.#host.replica.reader), writer)) return;
    throw clientError('signed_out', 'another user has signed in');
  }
}

function describe(content: FileContent, given: NewFile): { readonly type: string; readonly name?: string } {
  const [ownType, ownName] = isBlob(content) ? [content.type, content.name] : [];
  const type = given.type ?? validType(ownType);
  const name = given.name ?? validName(ownName);
  if (!isMediaType(type))
    throw clientError('invalid_file', `the type ${JSON.stringify(type)} is not a media type such as image/jpeg`);
  const problem = name === undefined ? null : fileNameProblem(name);
  if (problem !== null) throw clientError('invalid_file', `the name of the file ${problem}`);
  return name === undefined ? { type } : { type, name };
}

/** Cameras name types with parameters that are none of ours, as in `video/webm;codecs=vp8,opus`. */
function validType(type = ''): string {
  return [type, type.split(';', 1)[0]].find(isMediaType) ?? ANY_TYPE;
}

/** Systems allow names that are none of ours. A long one loses the end of what is before its extension. */
function validName(own = ''): string | undefined {
  if (fileNameProblem(own) === null) return own;
  const [, stem = '', extension = ''] = /^(.*?)(\.\w{1,16})?$/s.exec(own.replace(/[/\\]/g, '_')) ?? [];
  for (let points = [...stem.slice(0, FILE_NAME_BYTES_MAX)]; points.length > 0; points = points.slice(0, -1)) {
    const name = points.join('') + extension;
    if (fileNameProblem(name) === null) return name;
  }
  return undefined;
}
