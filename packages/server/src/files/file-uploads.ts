import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { FileArrival, Tidemark } from '@tidemark/core';
import { type Checksum, type FileEngine, FileFault, type FileUpload } from '@tidemark/files';
import { Refusal, type RefusalCode } from '@tidemark/protocol';
import { receiveBytes } from './receive-bytes.ts';
import { UnfinishedUploads } from './unfinished-uploads.ts';
import { UploadLocks } from './upload-locks.ts';

const OWNER_DIGITS = 32;
/** How often a file is put into its place that somebody removes at the same moment. */
const STORE_ATTEMPTS_MAX = 3;

/** A device, as far as its uploads are concerned. */
export interface UploadingDevice {
  readonly user: string;
  readonly client: string;
}

/** Where an upload stands. A size that equals the offset means that the file is stored. */
export interface UploadState {
  readonly sha256: string;
  readonly size: number;
  readonly offset: number;
  /** When it is given up unless more bytes arrive; null: it is finished. */
  readonly expiresMs: number | null;
}

/** What the core knows about files: who may send and read them. */
export type FileRights = Pick<
  Tidemark['files'],
  'begin' | 'isPresent' | 'arriving' | 'failed' | 'stored' | 'lost' | 'mayRead'
>;

export interface FileUploadsParts {
  readonly engine: FileEngine;
  readonly rights: FileRights;
  readonly nowMs: () => number;
  readonly sizeMax: number;
  /** Bytes of all stored files that one user has sent, and of all unfinished uploads of one user. */
  readonly quotaBytes: number;
  readonly expiresMs: number;
}

/** Bytes of an upload. */
export interface ArrivingBytes {
  readonly offset: number;
  readonly checksum: Checksum | undefined;
  /** Undefined: there are none. */
  readonly body: Readable | undefined;
}

/** The uploads of devices. An upload is named by its device and its hash, so a device that asks again finds it again. */
export class FileUploads {
  readonly #parts: FileUploadsParts;
  readonly #locks: UploadLocks;
  readonly #unfinished: UnfinishedUploads;

  constructor(parts: FileUploadsParts) {
    this.#parts = parts;
    this.#unfinished = new UnfinishedUploads({ engine: parts.engine, bytesMax: parts.quotaBytes });
    this.#locks = new UploadLocks(parts.nowMs);
  }

  /** Begins an upload, or finds what has arrived of it. */
  async begin(device: UploadingDevice, sha256: string, size: number): Promise<UploadState> {
    const { engine, rights, sizeMax } = this.#parts;
    requireSize(size, sizeMax);
    const arrival = arrivalOf(device, sha256, size);
    const isPresent = (await rights.begin(arrival)) === 'present';
    if (isPresent && (await asRefusals(() => engine.stat(sha256)))?.size === size) return finished(sha256, size);
    const id = uploadIdOf(device, sha256);
    const start = { sha256, size };
    const upload = await asRefusals(() => this.#unfinished.begin(id.slice(0, OWNER_DIGITS), id, start));
    return upload.offset === size ? this.#locks.run(id, () => this.#complete(id, arrival)) : this.#stateOf(upload);
  }

  /** Returns where the upload stands; null: the device has none. What is complete is stored before it is said to be. */
  async find(device: UploadingDevice, sha256: string): Promise<UploadState | null> {
    const { engine } = this.#parts;
    const id = uploadIdOf(device, sha256);
    const upload = await asRefusals(() => engine.findUpload(id));
    if (upload === null) return this.#findFinished(device, sha256);
    if (upload.offset < upload.size) return this.#stateOf(upload);
    return this.#locks.run(id, async () => {
      // Whoever had the upload before may have finished it.
      if ((await asRefusals(() => engine.findUpload(id))) === null) return this.#findFinished(device, sha256);
      return this.#complete(id, arrivalOf(device, sha256, upload.size));
    });
  }

  /** Appends bytes. When they are the last ones, the file is stored before this resolves. */
  async append(
    device: UploadingDevice,
    sha256: string,
    { offset, checksum, body }: ArrivingBytes,
  ): Promise<UploadState> {
    const { engine } = this.#parts;
    const id = uploadIdOf(device, sha256);
    return this.#locks.run(id, async (lock) => {
      if (body !== undefined) {
        await asRefusals(() => engine.append(id, offset, { chunks: receiveBytes(body, lock), checksum }));
      }
      const upload = await asRefusals(() => engine.findUpload(id));
      if (upload === null) throw new Refusal('upload_not_found', 'the device has no such upload');
      if (body === undefined && offset !== upload.offset) throw wrongOffset(`the upload goes on at ${upload.offset}`);
      if (upload.offset < upload.size) return this.#stateOf(upload);
      return this.#complete(id, arrivalOf(device, sha256, upload.size));
    });
  }

  async drop(device: UploadingDevice, sha256: string): Promise<void> {
    const { engine } = this.#parts;
    const id = uploadIdOf(device, sha256);
    const upload = await asRefusals(() => engine.findUpload(id));
    if (upload === null) throw new Refusal('upload_not_found', 'the device has no such upload');
    await this.#locks.run(id, () => asRefusals(() => engine.dropUpload(id)));
  }

  /** Each step can be repeated, so a crash between two of them costs nothing. */
  async #complete(id: string, arrival: FileArrival): Promise<UploadState> {
    const { rights } = this.#parts;
    await rights.arriving(arrival);
    try {
      return await this.#store(id, arrival);
    } catch (error) {
      await rights.failed(arrival);
      throw error;
    }
  }

  async #store(id: string, arrival: FileArrival): Promise<UploadState> {
    const { engine, rights } = this.#parts;
    const { sha256, size } = arrival;
    for (let attempt = 0; attempt < STORE_ATTEMPTS_MAX; attempt++) {
      if ((await asRefusals(() => engine.finish(id))) === 'mismatch') throw hashMismatch();
      await rights.stored(arrival);
      // Whoever removes a damaged file may have taken this one for it until now.
      if ((await asRefusals(() => engine.stat(sha256))) === null) continue;
      await asRefusals(() => engine.dropUpload(id));
      return finished(sha256, size);
    }
    await rights.lost(sha256);
    throw removedMeanwhile(sha256);
  }

  async #findFinished(device: UploadingDevice, sha256: string): Promise<UploadState | null> {
    const { engine, rights } = this.#parts;
    const stored = await asRefusals(() => engine.stat(sha256));
    if (stored === null) return null;
    const isPresent = await rights.isPresent(arrivalOf(device, sha256, stored.size));
    return isPresent ? finished(sha256, stored.size) : null;
  }

  #stateOf({ sha256, size, offset, changedMs }: FileUpload): UploadState {
    return { sha256, size, offset, expiresMs: changedMs + this.#parts.expiresMs };
  }
}

function arrivalOf({ user }: UploadingDevice, sha256: string, size: number): FileArrival {
  return { sha256, size, by: { kind: 'user', login: user } };
}

/** The owner is the user, so that the uploads of all devices of a user are counted together. */
function uploadIdOf({ user, client }: UploadingDevice, sha256: string): string {
  return `${digestOf(user)}.${digestOf(client)}${sha256}`;
}

function digestOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, OWNER_DIGITS);
}

function finished(sha256: string, size: number): UploadState {
  return { sha256, size, offset: size, expiresMs: null };
}

export function requireSize(size: number, sizeMax: number): void {
  if (size <= sizeMax) return;
  throw new Refusal('file_too_large', `a file has at most ${sizeMax} bytes, and this one ${size}`);
}

export function hashMismatch(): Refusal {
  return new Refusal('file_hash_mismatch', 'the bytes have another SHA-256 than announced; nothing of them is kept');
}

export function removedMeanwhile(sha256: string): Refusal {
  return new Refusal('file_busy', `the file ${sha256} was removed while it was stored; send it again`);
}

function wrongOffset(detail: string): Refusal {
  return new Refusal('wrong_offset', detail);
}

const CODES: Readonly<Record<FileFault['kind'], RefusalCode>> = {
  no_upload: 'upload_not_found',
  no_file: 'file_not_found',
  wrong_offset: 'wrong_offset',
  wrong_checksum: 'checksum_mismatch',
  too_long: 'file_too_large',
  full: 'store_full',
  unavailable: 'store_unavailable',
};

/** Turns the faults of an engine into refusals. */
export async function asRefusals<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof FileFault)) throw error;
    const refusal = new Refusal(CODES[error.kind], error.message);
    refusal.cause = error.cause;
    throw refusal;
  }
}
