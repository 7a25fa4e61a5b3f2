import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What the storage does to a request instead of, or beside, answering it. */
export type S3Fault =
  /** Answers 500, and does nothing. */
  | 'error'
  /** Does what was asked, and cuts the connection before it answers. */
  | 'lost_answer'
  /** Never answers. */
  | 'silent'
  /** Stores other bytes than were sent, under their ETag. */
  | 'wrong_bytes'
  /** Sends half of the bytes, then cuts the connection. */
  | 'half_answer'
  /** Sends the whole object, whatever part was asked for. */
  | 'whole_object'
  /** Does nothing, and says so after it has answered 200, as storages do that have begun to copy or join. */
  | 'late_error';

export interface FakeS3 {
  readonly url: string;
  /** Objects by their key. */
  readonly objects: Map<string, Buffer>;
  /** Requests so far, as `PUT key?query`. */
  readonly seen: string[];
  /** Returns what happens to a request; null: it is answered. The storage waits for a promise. */
  fault: (request: string) => S3Fault | null | Promise<S3Fault | null>;
  stop(): Promise<void>;
}

/** So few keys are in one page, to see that the next one is asked for. */
const PAGE_KEYS = 2;

/** A storage in memory that speaks as much of S3 as the engine needs, and fails when it is told to. It knows one bucket. */
export async function startFakeS3(): Promise<FakeS3> {
  const bucket = new Bucket();
  const fake = {
    objects: bucket.objects,
    seen: [] as string[],
    fault: (_request: string): ReturnType<FakeS3['fault']> => null,
  };
  const server = createServer((request, response) => {
    void answer(bucket, fake, request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(fake, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}

interface Answer {
  readonly status: number;
  readonly body?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function answer(
  bucket: Bucket,
  fake: Pick<FakeS3, 'seen' | 'fault'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '', 'http://fake');
  const key = decodeURIComponent(url.pathname.split('/').slice(2).join('/'));
  const call = `${request.method} ${key}${url.search}`;
  fake.seen.push(call);
  const body = await buffer(request);
  const fault = await fake.fault(call);
  if (fault === 'silent') return;
  if (fault === 'error') return void response.writeHead(500).end('<Error><Code>InternalError</Code></Error>');
  const sent = fault === 'wrong_bytes' ? Buffer.from(body.map((byte) => byte ^ 1)) : body;
  if (fault === 'late_error') return void response.writeHead(200).end('<Error><Code>InternalError</Code></Error>');
  const headers = fault === 'whole_object' ? { ...request.headers, range: undefined } : request.headers;
  const done = bucket.handle({ method: request.method ?? '', key, url, body: sent, headers });
  if (fault === 'lost_answer') return void response.destroy();
  const whole = Buffer.from(done.body ?? '');
  response.writeHead(done.status, { 'content-length': whole.length, ...done.headers });
  if (fault !== 'half_answer') return void response.end(request.method === 'HEAD' ? undefined : whole);
  response.write(whole.subarray(0, whole.length / 2), () => response.destroy());
}

interface Asked {
  readonly method: string;
  readonly key: string;
  readonly url: URL;
  readonly body: Buffer;
  readonly headers: IncomingMessage['headers'];
}

class Bucket {
  readonly objects = new Map<string, Buffer>();
  readonly #parts = new Map<string, Map<number, Buffer>>();

  handle(asked: Asked): Answer {
    const { method, key, url } = asked;
    const upload = url.searchParams.get('uploadId');
    if (url.searchParams.has('uploads')) return this.#begin();
    if (upload !== null) return this.#ofParts(upload, asked);
    if (method === 'GET' && key === '') return this.#list(url.searchParams);
    if (method === 'PUT') return this.#put(asked);
    if (method === 'DELETE') {
      this.objects.delete(key);
      return { status: 204 };
    }
    return this.#get(asked);
  }

  #put({ key, body, headers: { 'x-amz-copy-source': source } }: Asked): Answer {
    if (typeof source !== 'string') {
      this.objects.set(key, body);
      return tagged(body);
    }
    const copied = this.objects.get(decodeURIComponent(source).split('/').slice(2).join('/'));
    if (copied === undefined) return NOT_FOUND;
    this.objects.set(key, copied);
    return { status: 200, body: '<CopyObjectResult></CopyObjectResult>' };
  }

  #get({ key, headers: { range } }: Asked): Answer {
    const bytes = this.objects.get(key);
    if (bytes === undefined) return NOT_FOUND;
    const times = { 'last-modified': new Date(0).toUTCString() };
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
    if (first === undefined) return { status: 200, body: bytes, headers: times };
    return { status: 206, body: bytes.subarray(Number(first), Number(last) + 1), headers: times };
  }

  #list(query: URLSearchParams): Answer {
    const [prefix, after] = [query.get('prefix') ?? '', query.get('start-after') ?? ''];
    const delimiter = query.get('delimiter');
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const groups = new Set<string>();
    const rows: string[] = [];
    for (const key of keys) {
      const end = delimiter === null ? -1 : key.indexOf(delimiter, prefix.length);
      if (end >= 0 && groups.has(key.slice(0, end + 1))) continue;
      if (rows.length + groups.size === PAGE_KEYS) return listing(rows, groups, true);
      if (end >= 0) groups.add(key.slice(0, end + 1));
      else rows.push(row(key, this.objects.get(key)?.length ?? 0));
    }
    return listing(rows, groups, false);
  }

  #begin(): Answer {
    const upload = `upload-${this.#parts.size}`;
    this.#parts.set(upload, new Map());
    return { status: 200, body: `<R><UploadId>${upload}</UploadId></R>` };
  }

  #ofParts(upload: string, { method, key, url, body }: Asked): Answer {
    const parts = this.#parts.get(upload);
    if (parts === undefined) return NOT_FOUND;
    if (method === 'PUT') {
      parts.set(Number(url.searchParams.get('partNumber')), body);
      return tagged(body);
    }
    if (method === 'POST') {
      const tags = [...body.toString().matchAll(/<ETag>"(\w+)"<\/ETag>/g)].map(([, tag]) => tag);
      const bytes = tags.map((_, index) => parts.get(index + 1) ?? Buffer.alloc(0));
      if (bytes.some((part, index) => md5(part) !== tags[index]))
        return { status: 400, body: '<Code>InvalidPart</Code>' };
      this.objects.set(key, Buffer.concat(bytes));
    }
    this.#parts.delete(upload);
    return { status: method === 'POST' ? 200 : 204 };
  }
}

const NOT_FOUND: Answer = { status: 404, body: '<Error><Code>NoSuchKey</Code></Error>' };

function tagged(body: Buffer): Answer {
  return { status: 200, headers: { etag: `"${md5(body)}"` } };
}

function md5(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex');
}

function row(key: string, size: number): string {
  const name = key.replaceAll('&', '&amp;');
  return `<Contents><Key>${name}</Key><LastModified>1970-01-01T00:00:00.000Z</LastModified><Size>${size}</Size></Contents>`;
}

function listing(rows: readonly string[], groups: ReadonlySet<string>, isCut: boolean): Answer {
  const shared = [...groups].map((group) => `<CommonPrefixes><Prefix>${group}</Prefix></CommonPrefixes>`);
  return { status: 200, body: `<L><IsTruncated>${isCut}</IsTruncated>${rows.join('')}${shared.join('')}</L>` };
}
