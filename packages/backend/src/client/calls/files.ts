import type {
  FileCheck,
  FileList,
  FileReferenceValue,
  FileUsage,
  FileUse,
  FileUses,
  ListedFile,
} from '@tidemark/protocol';
import { path } from '../../transport/path.ts';
import type { BodyBytes, CallOptions, Transport } from '../../transport/transport.ts';
import { type PageOptions, pageQuery } from '../paging.ts';

const FILES = '/rc/v1/files';
/** A large file takes minutes to send, and to read again. */
const LONG_TIMEOUT_MS = 1_800_000;
const OCTETS = 'application/octet-stream';

/** The bytes of a file. What is iterated over is sent while it is read, and cannot be sent again after a failure. */
export type FileBytes = Uint8Array<ArrayBuffer> | Blob | AsyncIterable<Uint8Array>;

export interface FileOptions extends CallOptions {
  /** The media type, such as `image/jpeg`. Absent: that of the Blob, else `application/octet-stream`. */
  readonly type?: string;
  /** What people call the file. */
  readonly name?: string;
}

export interface DownloadOptions extends CallOptions {
  /** The first byte that is wanted, for a download that goes on. */
  readonly from?: number;
  /** The last byte that is wanted. */
  readonly to?: number;
}

/** Which files to list: at most one of source, user and state. */
export interface FileFilter extends PageOptions {
  /** Only files that objects of this source refer to. */
  readonly source?: string;
  /** Only files that objects in the data of this user refer to. */
  readonly user?: string;
  /** `missing`: only files whose bytes have not arrived. */
  readonly state?: 'missing';
}

/** The bytes of files, see docs/backend/files.md. */
export class FileCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  /** Stores a file whose SHA-256 is known. Returns the reference, which is the value of an attribute. */
  put(sha256: string, bytes: FileBytes, options: FileOptions = {}): Promise<FileReferenceValue> {
    return this.#send('PUT', path`/rc/v1/files/${sha256}`, bytes, options);
  }

  /** Stores a file; the server computes its SHA-256. Returns the reference, which is the value of an attribute. */
  add(bytes: FileBytes, options: FileOptions = {}): Promise<FileReferenceValue> {
    return this.#send('POST', FILES, bytes, options);
  }

  /** Returns the bytes of a file, or of a part of it, as they arrive. */
  download(sha256: string, { from, to, ...options }: DownloadOptions = {}): Promise<AsyncIterable<Uint8Array>> {
    const range = from === undefined && to === undefined ? {} : { range: `bytes=${from ?? 0}-${to ?? ''}` };
    const outgoing = { method: 'GET', path: path`/rc/v1/files/${sha256}`, repetition: 'harmless' } as const;
    return this.#api.stream({ ...outgoing, accept: OCTETS, headers: range, followsLink: true }, options);
  }

  /** One page of files; `next` is `after` of the next page. */
  list({ source, user, state, ...page }: FileFilter = {}): Promise<FileList> {
    return this.#api.get(FILES, page, { ...pageQuery(page), source, user, state });
  }

  /** Returns what is known of a file, stored or not. */
  facts(sha256: string, options?: CallOptions): Promise<ListedFile> {
    return this.#api.get(path`/rc/v1/files/${sha256}/facts`, options);
  }

  /** How much is stored, and how much has not arrived. */
  usage(options?: CallOptions): Promise<FileUsage> {
    return this.#api.get(`${FILES}/usage`, options);
  }

  /** Iterates over all files that match, page by page. */
  every(filter: Omit<FileFilter, 'after' | 'limit'> = {}): AsyncGenerator<ListedFile, void> {
    return everyRow(
      (after) => this.list({ ...filter, ...after }),
      ({ files }) => files,
    );
  }

  /** One page of the objects that refer to a file. */
  where(sha256: string, page: PageOptions = {}): Promise<FileUses> {
    return this.#api.get(path`/rc/v1/files/${sha256}/objects`, page, pageQuery(page));
  }

  /** Iterates over all objects that refer to a file. */
  everyUse(sha256: string, options: CallOptions = {}): AsyncGenerator<FileUse, void> {
    return everyRow(
      (after) => this.where(sha256, { ...options, ...after }),
      ({ objects }) => objects,
    );
  }

  /** Lets the server read a file again, and compare its bytes with its hash. */
  verify(sha256: string, options?: CallOptions): Promise<FileCheck> {
    const to = path`/rc/v1/files/${sha256}/verify`;
    return this.#api.post(to, {}, 'harmless', { timeoutMs: LONG_TIMEOUT_MS, ...options });
  }

  #send(method: 'PUT' | 'POST', to: string, bytes: FileBytes, { type, name, ...options }: FileOptions) {
    const body = bodyOf(bytes);
    const ofBlob = bytes instanceof Blob && bytes.type !== '' ? bytes.type : OCTETS;
    const repetition = body instanceof ReadableStream ? 'harmful' : 'harmless';
    const outgoing = { method, path: to, query: { name }, body, type: type ?? ofBlob, repetition } as const;
    return this.#api.call<FileReferenceValue>(outgoing, { timeoutMs: LONG_TIMEOUT_MS, ...options });
  }
}

function bodyOf(bytes: FileBytes): BodyBytes {
  if (bytes instanceof Uint8Array || bytes instanceof Blob || bytes instanceof ReadableStream) return bytes;
  const iterator = bytes[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await iterator.return?.()),
  });
}

async function* everyRow<Page extends { readonly next: string | null }, Row>(
  list: (position: { readonly after?: string }) => Promise<Page>,
  rowsOf: (page: Page) => readonly Row[],
): AsyncGenerator<Row, void> {
  for (let after: string | null | undefined; after !== null; ) {
    const page: Page = await list(after === undefined ? {} : { after });
    yield* rowsOf(page);
    after = page.next;
  }
}
