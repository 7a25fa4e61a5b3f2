import type { FileArrival, Tidemark } from '@tidemark/core';
import { isSha256, Refusal } from '@tidemark/protocol';

/** A request of a device about files. */
export interface FileExchange {
  readonly method: string;
  /** Under `/sync/v1/files`. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly client: string;
  readonly user: string;
}

interface Upload {
  readonly size: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Who may send and read files. */
type FileRights = Pick<Tidemark['files'], 'begin' | 'arriving' | 'stored' | 'lostAmong' | 'mayRead'>;

/** Keeps files in memory, and answers the routes of devices for them. */
export class InProcessFiles {
  /** The files that are stored, by SHA-256. */
  readonly stored = new Map<string, Uint8Array<ArrayBuffer>>();
  /** The largest file that is accepted. */
  sizeMax = Number.MAX_SAFE_INTEGER;
  /** False: every user may read every file, so that a test can put one here that no object refers to. */
  checksReaders = false;
  readonly #rights: FileRights;
  /** By device and SHA-256. */
  readonly #uploads = new Map<string, Upload>();

  constructor(rights: FileRights) {
    this.#rights = rights;
  }

  async answer(exchange: FileExchange): Promise<Response> {
    const { method, path } = exchange;
    const [, uploads, named] = /^\/(uploads\/)?([0-9a-f]{64})$/.exec(path) ?? [];
    if (method === 'POST' && path === '') return this.#begin(exchange);
    if (method === 'POST' && path === '/lost') return this.#lost(exchange);
    if (named === undefined) throw new Refusal('not_found', `there is nothing at /files${path}`);
    if (method === 'GET' && uploads === undefined) return this.#download(named, exchange);
    if (method === 'PATCH' && uploads !== undefined) return this.#append(named, exchange);
    throw new Refusal('not_found', `there is nothing at ${method} /files${path}`);
  }

  async #lost({ body, user }: FileExchange): Promise<Response> {
    const { files } = JSON.parse(new TextDecoder().decode(body)) as { readonly files: readonly string[] };
    return Response.json({ files: await this.#rights.lostAmong(user, files) });
  }

  async #begin(exchange: FileExchange): Promise<Response> {
    const { headers, client } = exchange;
    const size = Number(headers.get('upload-length'));
    const sha256 = atob((headers.get('upload-metadata') ?? '').slice('sha256 '.length));
    if (!isSha256(sha256)) throw new Refusal('invalid_value', 'the header upload-metadata has no sha256');
    if (size > this.sizeMax) throw new Refusal('file_too_large', `a file has at most ${this.sizeMax} bytes`);
    const isPresent = (await this.#rights.begin(arrivalOf(exchange, sha256, size))) === 'present';
    if (isPresent && this.stored.get(sha256)?.length === size) return uploadAnswer(201, size, size);
    const key = `${client} ${sha256}`;
    const upload = this.#uploads.get(key) ?? { size, bytes: new Uint8Array() };
    this.#uploads.set(key, upload);
    return this.#settle(201, sha256, exchange, upload);
  }

  #append(sha256: string, exchange: FileExchange): Promise<Response> {
    const { headers, client, body } = exchange;
    const key = `${client} ${sha256}`;
    const upload = this.#uploads.get(key);
    if (upload === undefined) throw new Refusal('upload_not_found', 'the device has no such upload');
    const { bytes, size } = upload;
    if (Number(headers.get('upload-offset')) !== bytes.length) {
      throw new Refusal('wrong_offset', `the upload goes on at ${bytes.length}`);
    }
    if (bytes.length + body.length > size) throw new Refusal('file_too_large', 'these are more bytes than announced');
    upload.bytes = new Uint8Array(bytes.length + body.length);
    upload.bytes.set(bytes);
    upload.bytes.set(body, bytes.length);
    return this.#settle(204, sha256, exchange, upload);
  }

  /** An upload with all its bytes becomes a file. */
  async #settle(status: number, sha256: string, exchange: FileExchange, upload: Upload): Promise<Response> {
    const { bytes, size } = upload;
    if (bytes.length === size) {
      this.#uploads.delete(`${exchange.client} ${sha256}`);
      if ((await sha256Of(bytes)) !== sha256) {
        throw new Refusal('file_hash_mismatch', 'the bytes have another SHA-256 than announced');
      }
      const arrival = arrivalOf(exchange, sha256, size);
      await this.#rights.arriving(arrival);
      this.stored.set(sha256, bytes);
      await this.#rights.stored(arrival);
    }
    return uploadAnswer(status, size, bytes.length);
  }

  async #download(sha256: string, { headers, user }: FileExchange): Promise<Response> {
    const bytes = this.stored.get(sha256);
    const mayRead = !this.checksReaders || (await this.#rights.mayRead(user, sha256)) !== null;
    if (bytes === undefined || !mayRead)
      throw new Refusal('file_not_found', 'there is no such file, or you may not read it');
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.get('range') ?? '') ?? [];
    if (first === undefined) return new Response(bytes);
    if (Number(first) >= bytes.length) throw new Refusal('range_not_satisfiable', `the file has ${bytes.length} bytes`);
    return new Response(bytes.slice(Number(first), Number(last) + 1), { status: 206 });
  }
}

function arrivalOf({ user }: FileExchange, sha256: string, size: number): FileArrival {
  return { sha256, size, by: { kind: 'user', login: user } };
}

function uploadAnswer(status: number, size: number, offset: number): Response {
  const headers = { 'tus-resumable': '1.0.0', 'upload-length': String(size), 'upload-offset': String(offset) };
  return new Response(null, { status, headers });
}

async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
