import { parseJson } from '@tidemark/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isNamed } from '../primitives/entity-tag.ts';
import { codingFor } from './coding/negotiate-coding.ts';

/** The list of files that the build writes beside them. Nothing that is not in it is ever read. */
const LIST = 'files.json';
const HASHED = 'assets/';
const ONE_YEAR_S = 31_536_000;

/** Everything comes from this server. Inline scripts and styles do not run, and no other site may show a page in a frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface ListedFile {
  readonly type: string;
  readonly hash: string;
  readonly hasGzip: boolean;
}

export interface BuiltFile extends ListedFile {
  /** True: the name contains a hash of the content, which therefore never changes. */
  readonly isHashed: boolean;
  read(isGzip: boolean): Promise<Buffer>;
}

/** The files of a build: the web console, the documentation. They are read when they are asked for. */
export class BuiltFiles {
  readonly #read: (name: string) => Promise<Buffer>;
  #listed: Promise<ReadonlyMap<string, ListedFile> | null> | null = null;

  constructor(read: (name: string) => Promise<Buffer>) {
    this.#read = read;
  }

  async isBuilt(): Promise<boolean> {
    return (await this.#list()) !== null;
  }

  async find(name: string): Promise<BuiltFile | null> {
    const file = (await this.#list())?.get(name);
    if (file === undefined) return null;
    const read = (isGzip: boolean) => this.#read(isGzip ? `${name}.gz` : name);
    return { ...file, isHashed: name.startsWith(HASHED), read };
  }

  /** Returns null if nothing was built. Then the list is looked for again at the next request. */
  async #list(): Promise<ReadonlyMap<string, ListedFile> | null> {
    this.#listed ??= this.#readList();
    const listed = await this.#listed;
    if (listed === null) this.#listed = null;
    return listed;
  }

  async #readList(): Promise<ReadonlyMap<string, ListedFile> | null> {
    const text = await this.#read(LIST).catch(() => null);
    if (text === null) return null;
    return new Map(Object.entries(parseJson(text.toString()) as Record<string, ListedFile>));
  }
}

/** Sets the headers of every page that a build or the server itself has written. */
export function securePage(reply: FastifyReply): FastifyReply {
  return reply
    .header('x-content-type-options', 'nosniff')
    .header('content-security-policy', POLICY)
    .header('referrer-policy', 'same-origin');
}

export async function sendFile(request: FastifyRequest, reply: FastifyReply, file: BuiltFile): Promise<FastifyReply> {
  const isGzip = file.hasGzip && codingFor(request.headers['accept-encoding']) === 'gzip';
  const etag = `"${file.hash}${isGzip ? '-gzip' : ''}"`;
  securePage(reply)
    .header('etag', etag)
    .header('vary', 'accept-encoding')
    .header('cache-control', file.isHashed ? `public, max-age=${ONE_YEAR_S}, immutable` : 'no-cache');
  if (isNamed(etag, request.headers['if-none-match'])) return reply.code(304).send();
  if (isGzip) reply.header('content-encoding', 'gzip');
  return reply.type(file.type).send(await file.read(isGzip));
}
