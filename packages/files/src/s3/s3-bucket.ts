import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type ByteRange, FileFault } from '../file-engine.ts';
import { type ListedKeys, readListing, readUploadId } from './s3-xml.ts';
import { EMPTY_HASH, encodeRfc3986, presignUrl, type Signer, sha256Hex, signHeaders } from './sign-v4.ts';

/** Where the bucket is. */
export interface S3Options extends Signer {
  readonly bucket: string;
  /** The address of the storage, such as `https://minio.example.org`; null: AWS, whose address has the bucket in it. */
  readonly endpoint: string | null;
  /** Begins the key of every object; empty, or with a slash at its end. */
  readonly prefix: string;
  readonly nowMs?: () => number;
  /** How long a request may take until its answer begins, and an answer until its next bytes. */
  readonly timeoutMs?: number;
  /** The pause before the second attempt; each further one is twice as long. */
  readonly retryPauseMs?: number;
}

interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
}

export interface StoredObject {
  readonly size: number;
  readonly changedMs: number;
}

const TIMEOUT_MS = 30_000;
const RETRY_PAUSE_MS = 100;
const ATTEMPTS_MAX = 5;
/** Answers that say that the storage is busy or broken for the moment. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const ERROR_UNITS_SHOWN = 300;

/**
 * The objects of one bucket under one prefix. Every request can be repeated, and is, when the storage fails or does not
 * answer in time. What fails again and again is the fault `unavailable`. No error contains a key or a signature.
 */
export class S3Bucket {
  readonly #options: S3Options;
  readonly #base: URL;
  readonly #nowMs: () => number;
  readonly #timeoutMs: number;

  constructor(options: S3Options) {
    this.#options = options;
    this.#base = baseOf(options);
    this.#nowMs = options.nowMs ?? Date.now;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  /** The bucket and its prefix, for people. */
  get place(): string {
    return `${this.#base.href}${this.#options.prefix}`;
  }

  /** Stores an object, and checks by its ETag that the storage has these bytes. */
  put(key: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#checkedPut({ method: 'PUT', key, body });
  }

  /** Returns the bytes of a small object; null: there is none. */
  async getText(key: string): Promise<string | null> {
    return this.#retrying(async () => {
      const response = await this.#send({ method: 'GET', key });
      if (response.status === 404) return discarded(response, null);
      return this.#textOf(await this.#succeeded(response));
    });
  }

  /** Reads an object, and goes on behind the last byte when the connection breaks. Null: there is no such object. */
  async *read(key: string, { first, last }: ByteRange): AsyncGenerator<Uint8Array> {
    let next = first;
    for (let attempt = 1; next <= last; attempt++) {
      try {
        for await (const chunk of this.#readOnce(key, { first: next, last })) {
          // Some storages send more than they were asked for.
          const wanted = chunk.subarray(0, last - next + 1);
          next += wanted.length;
          attempt = 1;
          if (wanted.length > 0) yield wanted;
          if (next > last) return;
        }
        if (next <= last) throw new TypeError('the answer ended too early');
      } catch (error) {
        await this.#pauseAfter(attempt, error);
      }
    }
  }

  async head(key: string): Promise<StoredObject | null> {
    return this.#retrying(async () => {
      const response = await this.#send({ method: 'HEAD', key });
      if (response.status === 404) return null;
      const { headers } = await this.#succeeded(response);
      return {
        size: Number(headers.get('content-length')),
        changedMs: Date.parse(headers.get('last-modified') ?? '') || 0,
      };
    });
  }

  /** An object that is gone already is deleted. */
  delete(key: string): Promise<void> {
    return this.#retrying(async () => {
      const response = await this.#send({ method: 'DELETE', key });
      if (response.status !== 404) await this.#succeeded(response);
      await discarded(response, null);
    });
  }

  /** Copies an object inside of the storage. False: there is no such object. */
  async copy(from: string, to: string): Promise<boolean> {
    const source = `/${this.#options.bucket}/${this.#options.prefix}${from}`;
    const headers = { 'x-amz-copy-source': source.split('/').map(encodeRfc3986).join('/') };
    return this.#retrying(async () => {
      const response = await this.#send({ method: 'PUT', key: to, headers });
      if (response.status === 404) return discarded(response, false);
      // A copy may fail after the storage has answered 200.
      const text = await this.#textOf(await this.#succeeded(response));
      if (text.includes('<Error>')) throw new PassingFailure('the copy failed');
      return true;
    });
  }

  /** Lists up to 1,000 keys, without the prefix of the bucket. */
  async list(prefix: string, { after, delimiter }: KeyList = {}): Promise<ListedKeys> {
    const whole = this.#options.prefix;
    const query = {
      'list-type': '2',
      prefix: `${whole}${prefix}`,
      ...(after === undefined ? {} : { 'start-after': `${whole}${after}` }),
      ...(delimiter === undefined ? {} : { delimiter }),
    };
    return this.#retrying(async () => {
      const response = await this.#succeeded(await this.#send({ method: 'GET', key: '', query }));
      return readListing(await this.#textOf(response), whole);
    });
  }

  /** Begins an object in parts, which exists when all of them are joined. */
  async beginParts(key: string): Promise<string> {
    return this.#retrying(async () => {
      const response = await this.#send({ method: 'POST', key, query: { uploads: '' } });
      return readUploadId(await this.#textOf(await this.#succeeded(response)));
    });
  }

  /** Returns the ETag of the part. */
  async putPart(key: string, part: PartOf, body: Uint8Array<ArrayBuffer>): Promise<string> {
    const query = { partNumber: String(part.number), uploadId: part.upload };
    await this.#checkedPut({ method: 'PUT', key, query, body });
    return md5Hex(body);
  }

  async joinParts(key: string, upload: string, tags: readonly string[]): Promise<void> {
    const parts = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>"${tag}"</ETag></Part>`);
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
    await this.#retrying(async () => {
      const response = await this.#send({ method: 'POST', key, query: { uploadId: upload }, body });
      // An earlier attempt may have joined them, and its answer was lost.
      if (response.status === 404 && (await this.head(key)) !== null) return discarded(response, undefined);
      const text = await this.#textOf(await this.#succeeded(response));
      if (text.includes('<Error>')) throw new PassingFailure('the parts were not joined');
    });
  }

  /** Forgets parts that were not joined. */
  async dropParts(key: string, upload: string): Promise<void> {
    await this.#retrying(async () => {
      const response = await this.#send({ method: 'DELETE', key, query: { uploadId: upload } });
      if (response.status !== 404) await this.#succeeded(response);
      await discarded(response, null);
    });
  }

  /** Returns a URL by which anybody may read the object for a while. `query` asks for headers of the answer. */
  presign(key: string, expiresS: number, query: Readonly<Record<string, string>>): string {
    return presignUrl(this.#options, this.#urlOf(key, query), { expiresS, nowMs: this.#nowMs() });
  }

  #checkedPut(request: S3Request & { readonly body: Uint8Array<ArrayBuffer> }): Promise<void> {
    const md5 = md5Hex(request.body);
    return this.#retrying(async () => {
      const response = await this.#succeeded(await this.#send(request));
      const tag = response.headers.get('etag')?.replaceAll('"', '') ?? '';
      await discarded(response, null);
      // Under keys of its own, a storage encrypts first, and then the ETag says nothing about the bytes.
      const isOpaque = /kms|sse-c/i.test(response.headers.get('x-amz-server-side-encryption') ?? '');
      if (!isOpaque && /^[0-9a-f]{32}$/.test(tag) && tag !== md5) {
        throw new PassingFailure('the ETag is not that of the bytes that were sent');
      }
    });
  }

  async *#readOnce(key: string, { first, last }: ByteRange): AsyncGenerator<Uint8Array> {
    const response = await this.#send({ method: 'GET', key, headers: { range: `bytes=${first}-${last}` } });
    if (response.status === 404) {
      await discarded(response, null);
      throw new FileFault('no_file', 'the file is not stored');
    }
    const { body, status } = await this.#succeeded(response);
    if (body === null) return;
    if (status !== 206 && first > 0) throw new PassingFailure('the storage sends no part of an object');
    yield* this.#inTime(body);
  }

  /** Yields chunks, and gives up when one of them does not come. */
  async *#inTime(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    const reader = body.getReader();
    let isStalled = false;
    const stall = setTimeout(() => {
      isStalled = true;
      reader.cancel().catch(() => {});
    }, this.#timeoutMs);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (isStalled) throw new PassingFailure('the storage of the files sends nothing more');
        if (done) return;
        stall.refresh();
        yield value;
      }
    } finally {
      clearTimeout(stall);
      await reader.cancel().catch(() => {});
    }
  }

  async #textOf({ body }: Response): Promise<string> {
    if (body === null) return '';
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.#inTime(body)) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  async #retrying<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        await this.#pauseAfter(attempt, error);
      }
    }
  }

  /** Throws what another attempt would not change, and what has failed too often. */
  async #pauseAfter(attempt: number, error: unknown): Promise<void> {
    if (error instanceof FileFault || !isPassing(error)) throw error;
    if (attempt >= ATTEMPTS_MAX) {
      throw new FileFault('unavailable', 'the storage of the files does not answer as it should', { cause: error });
    }
    const pauseMs = (this.#options.retryPauseMs ?? RETRY_PAUSE_MS) * 2 ** (attempt - 1);
    await pause(pauseMs * (0.5 + Math.random()));
  }

  async #succeeded(response: Response): Promise<Response> {
    if (response.ok) return response;
    const text = (await this.#textOf(response)).slice(0, ERROR_UNITS_SHOWN);
    const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? 'no code';
    const told = `the storage of the files answered ${response.status} (${code})`;
    if (PASSING.has(response.status)) throw new PassingFailure(told);
    throw new FileFault('unavailable', told);
  }

  #send({ method, key, query = {}, headers = {}, body }: S3Request): Promise<Response> {
    const url = this.#urlOf(key, query);
    const payloadHash = body === undefined ? EMPTY_HASH : sha256Hex(body);
    const all = { ...headers, 'x-amz-content-sha256': payloadHash };
    const signed = signHeaders(this.#options, { method, url, headers: all, payloadHash, nowMs: this.#nowMs() });
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), this.#timeoutMs);
    const init = { method, headers: signed, redirect: 'manual', signal: stop.signal } as const;
    return fetch(url, body === undefined ? init : { ...init, body }).finally(() => clearTimeout(timer));
  }

  #urlOf(key: string, query: Readonly<Record<string, string>>): URL {
    const { prefix } = this.#options;
    const path = key === '' ? '' : `${prefix}${key}`;
    const url = new URL(`${this.#base.href}${path.split('/').map(encodeRfc3986).join('/')}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  }
}

interface KeyList {
  readonly after?: string | undefined;
  readonly delimiter?: string;
}

interface PartOf {
  readonly upload: string;
  readonly number: number;
}

/** A failure that the next attempt may not have. */
class PassingFailure extends Error {}

/** Of `fetch`, broken connections are a `TypeError`, and time that is over an `AbortError`. */
function isPassing(error: unknown): boolean {
  if (error instanceof PassingFailure || error instanceof TypeError) return true;
  return error instanceof Error && (error.name === 'AbortError' || 'code' in error);
}

/** Reads the rest of an answer, so that its connection can be used again. */
async function discarded<T>(response: Response, value: T): Promise<T> {
  await response.arrayBuffer().catch(() => {});
  return value;
}

function md5Hex(body: Uint8Array): string {
  return createHash('md5').update(body).digest('hex');
}

function baseOf({ endpoint, bucket, region }: S3Options): URL {
  if (endpoint === null) return new URL(`https://${bucket}.s3.${region}.amazonaws.com/`);
  return new URL(`${endpoint.replace(/\/+$/, '')}/${bucket}/`);
}
