import { createHmac, timingSafeEqual } from 'node:crypto';
import { fileReferencesIn } from '@tidemark/protocol';
import { FILE_LINK_S } from '../limits.ts';

const MS_PER_S = 1_000;
const SIGNATURE = /^[\w-]{43}$/;
const MOMENT = /^\d{1,12}$/;

/** A URL by which a backend reads a file without a token. */
export interface FileLink {
  readonly url: string;
  readonly expires_at: string;
}

/** What a link says beside its path. */
export interface LinkQuery {
  readonly expires?: string | undefined;
  readonly signature?: string | undefined;
}

export interface FileLinksParts {
  /** The secret that the server shares with the backend. */
  readonly secret: () => Promise<string>;
  /** The address of the server, as the backend reaches it. */
  readonly serverUrl: () => string;
  readonly nowMs: () => number;
}

/** Makes links to files for calls to the backend, and checks them. A link is the right to read one file for a while. */
export class FileLinks {
  readonly #parts: FileLinksParts;

  constructor(parts: FileLinksParts) {
    this.#parts = parts;
  }

  /** Returns a link for each file that values of attributes refer to; null: they refer to none. */
  async linksFor(attributes: unknown): Promise<Readonly<Record<string, FileLink>> | null> {
    const values = typeof attributes === 'object' && attributes !== null ? Object.values(attributes) : [];
    const files = new Set(values.flatMap((value) => [...fileReferencesIn(value)].map(({ sha256 }) => sha256)));
    if (files.size === 0) return null;
    const secret = await this.#parts.secret();
    const expires = Math.floor(this.#parts.nowMs() / MS_PER_S) + FILE_LINK_S;
    return Object.fromEntries([...files].map((sha256) => [sha256, this.#link(secret, sha256, expires)]));
  }

  /** Whether a link was made here and is still valid. Takes the same time whatever is wrong with the signature. */
  async isValid(sha256: string, { expires = '', signature = '' }: LinkQuery): Promise<boolean> {
    if (!MOMENT.test(expires) || !SIGNATURE.test(signature)) return false;
    const wanted = signatureOf(await this.#parts.secret(), sha256, Number(expires));
    const isOurs = timingSafeEqual(Buffer.from(signature, 'base64url'), wanted);
    return isOurs && this.#parts.nowMs() < Number(expires) * MS_PER_S;
  }

  #link(secret: string, sha256: string, expires: number): FileLink {
    const signature = signatureOf(secret, sha256, expires).toString('base64url');
    const base = this.#parts.serverUrl().replace(/\/+$/, '');
    const url = `${base}/files/${sha256}?expires=${expires}&signature=${signature}`;
    return { url, expires_at: new Date(expires * MS_PER_S).toISOString() };
  }
}

/** The text begins with what no other signature of this secret begins with. */
function signatureOf(secret: string, sha256: string, expires: number): Buffer {
  return createHmac('sha256', secret).update(`tidemark file link\n${sha256}\n${expires}`).digest();
}
