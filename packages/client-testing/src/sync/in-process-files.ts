import { isSha256, Refusal } from '@tidemark/protocol';

/** A request of a device about files. */
export interface FileExchange {
  readonly method: string;
  /** Under `/sync/v1/files`. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly client: string;
}

interface Upload {
  readonly size: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Keeps files in memory, and answers the routes of devices for them. Every user may read every file. */
export class InProcessFiles {
  /** The files that are stored, by SHA-256. */
  readonly stored = new Map<string, Uint8Array<ArrayBuffer>>();
  /** The largest file that is accepted. */
  sizeMax = Number.MAX_SAFE_INTEGER;
  /** By device and SHA-256. */
  readonly #uploads = new Map<string, Upload>();

  async answer(exchange: FileExchange): Promise<Response> {
    const { method, path } = exchange;
    const [, uploads, named] = /^\/(uploads\/)?([0-9a-f]{64})$/.exec(path) ?? [];
    if (method === 'POST' && path === '') return this.#begin(exchange);
    if (named === undefined) throw new Refusal('not_found', `there is nothing at /files${path}`);
    if (method === 'GET' && uploads === undefined) return this.#download(named, exchange.headers);
    if (method === 'PATCH' && uploads !== undefined) return this.#append(named, exchange);
    throw new Refusal('not_found', `there is nothing at ${method} /files${path}`);
  }

  #begin({ headers, client }: FileExchange): Promise<Response> | Response {
    const size = Number(headers.get('upload-length'));
    const sha256 = atob((headers.get('upload-metadata') ?? '').slice('sha256 '.length));
    if (!isSha256(sha256)) throw new Refusal('invalid_value', 'the header upload-metadata has no sha256');
    if (size > this.sizeMax) throw new Refusal('file_too_large', `a file has at most ${this.sizeMax} bytes`);
    const stored = this.stored.get(sha256);
    if (stored !== undefined) return uploadAnswer(201, stored.length, stored.length);
    const key = `${client} ${sha256}`;
    const upload = this.#uploads.get(key) ?? { size, bytes: new Uint8Array() };
    this.#uploads.set(key, upload);
    return this.#settle(201, sha256, key, upload);
  }

  #append(sha256: string, { headers, client, body }: FileExchange): Promise<Response> {
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
    return this.#settle(204, sha256, key, upload);
  }

  /** An upload with all its bytes becomes a file. */
  async #settle(status: number, sha256: string, key: string, { bytes, size }: Upload): Promise<Response> {
    if (bytes.length === size) {
      this.#uploads.delete(key);
      if ((await sha256Of(bytes)) !== sha256) {
        throw new Refusal('file_hash_mismatch', 'the bytes have another SHA-256 than announced');
      }
      this.stored.set(sha256, bytes);
    }
    return uploadAnswer(status, size, bytes.length);
  }

  #download(sha256: string, headers: Headers): Response {
    const bytes = this.stored.get(sha256);
    if (bytes === undefined) throw new Refusal('file_not_found', 'there is no such file, or you may not read it');
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.get('range') ?? '') ?? [];
    if (first === undefined) return new Response(bytes);
    if (Number(first) >= bytes.length) throw new Refusal('range_not_satisfiable', `the file has ${bytes.length} bytes`);
    return new Response(bytes.slice(Number(first), Number(last) + 1), { status: 206 });
  }
}

function uploadAnswer(status: number, size: number, offset: number): Response {
  const headers = { 'tus-resumable': '1.0.0', 'upload-length': String(size), 'upload-offset': String(offset) };
  return new Response(null, { status, headers });
}

async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
