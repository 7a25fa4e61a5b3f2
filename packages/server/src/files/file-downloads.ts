import type { ByteRange, FileEngine, StoredFile } from '@tidemark/files';
import { Refusal } from '@tidemark/protocol';
import { FILE_RIGHTS_CHECK_BYTES } from '../limits.ts';
import { isNamed } from '../primitives/entity-tag.ts';
import { RefusalWithHeaders } from '../primitives/refusal-with-headers.ts';
import { readRange } from './byte-range.ts';
import { asRefusals } from './file-uploads.ts';
import { FORMAT_BYTES, shownType } from './media-type.ts';

/** The headers by which a caller asks for a file, or for a part of it. */
export interface DownloadRequest {
  readonly method: string;
  readonly headers: {
    readonly range?: string | undefined;
    readonly 'if-range'?: string | undefined;
    readonly 'if-none-match'?: string | undefined;
  };
}

/** What is downloaded, and from where. */
export interface DownloadSource {
  readonly engine: FileEngine;
  readonly sha256: string;
  /** How long a link to the storage is valid, in seconds; 0: there is none. */
  readonly linkS: number;
  /** Called when the storage does not have a file that the caller may read. */
  readonly onMissing: () => Promise<void>;
}

/** What is sent. */
export interface Download {
  readonly status: 200 | 206 | 304 | 307;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: nothing. */
  readonly chunks: AsyncIterable<Uint8Array> | null;
}

/** Headers that keep a file of others from being a page of ours, whatever it contains. */
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
} as const;

/** The same bytes for ever; the private cache of one user. */
const CACHING = 'private, max-age=31536000, immutable';

/**
 * Opens a file for a caller who may read it. `mayRead` is asked again while the file is sent, and after its last byte has
 * been read: a caller who may not read it any more does not get its end.
 */
export async function openDownload(
  { engine, sha256, linkS, onMissing }: DownloadSource,
  { method, headers: request }: DownloadRequest,
  mayRead: () => Promise<boolean>,
): Promise<Download> {
  if (!(await mayRead())) throw fileNotFound();
  const stored = await asRefusals(() => engine.stat(sha256));
  if (stored === null) {
    await onMissing();
    throw fileNotFound();
  }
  const { size } = stored;
  const tag = `"${sha256}"`;
  const caching = { etag: tag, 'cache-control': CACHING, 'accept-ranges': 'bytes', ...SECURITY_HEADERS };
  if (isNamed(tag, request['if-none-match'])) return { status: 304, headers: caching, chunks: null };
  if (linkS > 0 && method === 'GET' && size > 0) {
    const location = await linkTo(engine, stored, linkS);
    if (location !== null) return { status: 307, headers: { location, ...SECURITY_HEADERS }, chunks: null };
  }
  const isSame = request['if-range'] === undefined || request['if-range'] === tag;
  const range = readRange(isSame ? request.range : undefined, size);
  if (range.kind === 'none') throw unsatisfiable(size);
  const { type, disposition } = await shownAs(engine, stored);
  const headers = { ...caching, 'content-type': type, 'content-disposition': disposition };
  const part = range.kind === 'part' ? range : { first: 0, last: size - 1 };
  const length = part.last - part.first + 1;
  const chunks = length === 0 ? null : whileAllowed(engine, sha256, part, mayRead);
  const described = { ...headers, 'content-length': String(length) };
  if (range.kind === 'whole') return { status: 200, headers: described, chunks };
  return {
    status: 206,
    headers: { ...described, 'content-range': `bytes ${part.first}-${part.last}/${size}` },
    chunks,
  };
}

/** The header tells callers that do not know the size which parts there are. */
function unsatisfiable(size: number): Refusal {
  const detail = `the file has ${size} bytes, and the range begins behind them`;
  return new RefusalWithHeaders('range_not_satisfiable', detail, { 'content-range': `bytes */${size}` });
}

/** A file that does not exist and one that the caller may not read cannot be told apart. */
export function fileNotFound(): Refusal {
  return new Refusal('file_not_found', 'there is no such file, or you may not read it');
}

/** How browsers show a file: only formats that cannot contain scripts, which are known by their first bytes. */
async function shownAs(engine: FileEngine, { sha256, size }: StoredFile) {
  const type = size === 0 ? null : shownType(await headOf(engine, sha256, size));
  return { type: type ?? 'application/octet-stream', disposition: type === null ? 'attachment' : 'inline' };
}

/** The storage knows nothing of rights, so the link is the right, for a short time. It is never kept by caches. */
async function linkTo(engine: FileEngine, stored: StoredFile, expiresS: number): Promise<string | null> {
  return engine.link(stored.sha256, { expiresS, ...(await shownAs(engine, stored)), caching: CACHING });
}

async function headOf(engine: FileEngine, sha256: string, size: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const range = { first: 0, last: Math.min(FORMAT_BYTES, size) - 1 };
  await asRefusals(async () => {
    for await (const chunk of engine.read(sha256, range)) chunks.push(chunk);
  });
  return Buffer.concat(chunks);
}

/** Yields the bytes one chunk late, so that the last one is sent only after the last check. */
async function* whileAllowed(
  engine: FileEngine,
  sha256: string,
  range: ByteRange,
  mayRead: () => Promise<boolean>,
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array | null = null;
  let unchecked = 0;
  const check = async () => {
    if (!(await mayRead())) throw fileNotFound();
    unchecked = 0;
  };
  for await (const chunk of engine.read(sha256, range)) {
    if (held !== null) yield held;
    held = chunk;
    unchecked += chunk.length;
    if (unchecked >= FILE_RIGHTS_CHECK_BYTES) await check();
  }
  await check();
  if (held !== null) yield held;
}
