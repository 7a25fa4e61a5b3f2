import type { IncomingHttpHeaders } from 'node:http';
import { parseJson } from '@tidemark/protocol';
import { type Outgoing, Sender } from './sender.ts';

/** An answer with its parsed body. */
export interface Reply {
  readonly status: number;
  /** The code of a refusal; null otherwise. */
  readonly code: string | null;
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Calls the API of one server with one token, or with none. */
export class Caller {
  readonly #sender: Sender;
  readonly #token: string | null;

  constructor(url: string, token: string | null) {
    this.#sender = new Sender(url);
    this.#token = token;
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.send({ method: 'GET', path, headers, body: null });
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.send({ method: 'POST', path, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) });
  }

  put(path: string, body: unknown): Promise<Reply> {
    return this.send({ method: 'PUT', path, headers: JSON_TYPE, body: JSON.stringify(body) });
  }

  delete(path: string): Promise<Reply> {
    return this.send({ method: 'DELETE', path, headers: {}, body: null });
  }

  /** Sends a JSON text unchanged, valid or not. */
  postText(path: string, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.send({ method: 'POST', path, headers: { ...JSON_TYPE, ...headers }, body });
  }

  async send(outgoing: Outgoing): Promise<Reply> {
    const token = this.#token === null ? {} : { 'x-sync-api-token': this.#token };
    const { status, headers, text } = await this.#sender.send({
      ...outgoing,
      headers: { ...token, ...outgoing.headers },
    });
    const isJson = /\bjson\b/.test(headers['content-type'] ?? '') && text !== '';
    const body: unknown = isJson ? parseJson(text) : text;
    const code = status >= 400 && isJson ? String((body as { readonly code?: unknown }).code) : null;
    return { status, code, body, headers, text };
  }

  close(): void {
    this.#sender.close();
  }
}

const JSON_TYPE = { 'content-type': 'application/json' } as const;
