import { parseJson, retryAfterMs } from '@tidemark/protocol';
import { ClientError, clientError } from '../client-error.ts';
import { FILE_REQUEST_MS_MAX, REQUEST_MS_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import { explainFailure, noAnswer } from './explain-failure.ts';
import type { ReadAnswer } from './read-answer.ts';

export interface WireCall<T> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path under `/sync/v1`. */
  readonly path: string;
  readonly token?: string;
  readonly body?: unknown;
  readonly read: ReadAnswer<T>;
  readonly signal: AbortSignal;
}

export type OpenCall = Pick<WireCall<never>, 'path' | 'token' | 'signal'> & { readonly accept: string };

/** A request whose body and answer are bytes. */
export interface BytesCall {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly token?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
}

export interface BytesAnswer {
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

type FetchCall = Pick<BytesCall, 'path' | 'token' | 'signal'> & { readonly method: string };

/** Sends requests and reads answers, with one time-out and one kind of error. It does not know the calls themselves. */
export class Wire {
  readonly #platform: Platform;
  readonly #url: string;
  #isAnswered = false;

  constructor(platform: Platform, url: string) {
    this.#platform = platform;
    this.#url = url.replace(/\/+$/, '');
  }

  /** Makes a request and reads the whole answer. */
  async ask<T>(call: WireCall<T>): Promise<T> {
    const limit = timeLimit(this.#platform, call.signal, REQUEST_MS_MAX);
    try {
      const response = await this.#send(call, 'application/json', limit.signal);
      const text = await response.text();
      return call.read(parsed(text));
    } catch (error) {
      throw await this.#explained(error, call.signal, limit.signal);
    } finally {
      limit.end();
    }
  }

  /** Makes a request with bytes, and reads the whole answer. Browsers keep nothing of it. */
  async exchange({ headers, bytes, ...call }: BytesCall): Promise<BytesAnswer> {
    const limit = timeLimit(this.#platform, call.signal, FILE_REQUEST_MS_MAX);
    try {
      const body = bytes === undefined ? {} : { body: bytes };
      // A server may leave downloads to the storage itself.
      const redirect = call.method === 'GET' ? 'follow' : 'error';
      const init = { headers, cache: 'no-store', redirect, ...body } as const;
      const response = await this.#fetch({ ...call, signal: limit.signal }, init);
      return { headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) };
    } catch (error) {
      throw await this.#explained(error, call.signal, limit.signal);
    } finally {
      limit.end();
    }
  }

  /** Makes a request whose answer is a stream; the reader must detect silence. */
  async open(call: OpenCall): Promise<Response> {
    const limit = timeLimit(this.#platform, call.signal, REQUEST_MS_MAX);
    try {
      return await this.#send({ ...call, method: 'GET' }, call.accept, limit.signal);
    } catch (error) {
      throw await this.#explained(error, call.signal, limit.signal);
    } finally {
      limit.disarm();
    }
  }

  #send(
    call: Pick<WireCall<never>, 'method' | 'path' | 'token' | 'body'>,
    accept: string,
    signal: AbortSignal,
  ): Promise<Response> {
    const { body } = call;
    const isEmpty = body === undefined;
    const headers = { accept, ...(isEmpty ? {} : { 'content-type': 'application/json' }) };
    return this.#fetch({ ...call, signal }, { headers, ...(isEmpty ? {} : { body: JSON.stringify(body) }) });
  }

  async #fetch({ method, path, token, signal }: FetchCall, init: RequestInit): Promise<Response> {
    const headers = { ...init.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
    const response = await this.#platform.fetch(`${this.#url}/sync/v1${path}`, {
      ...init,
      method,
      headers,
      signal,
      // Passwords and tokens must only go to the address that the app gave. Browsers and Node.js send no token to another origin that a download is redirected to.
      redirect: init.redirect ?? 'error',
      credentials: 'omit',
    });
    this.#isAnswered = true;
    if (!response.ok) throw await refusalOf(response, this.#platform.nowMs());
    return response;
  }

  async #explained(error: unknown, signal: AbortSignal, limit: AbortSignal): Promise<ClientError> {
    // The abort reason tells a time-out from a cancellation.
    if (signal.aborted && signal.reason instanceof ClientError) return signal.reason;
    if (signal.aborted) return clientError('aborted', 'the caller cancelled the request', error);
    if (error instanceof ClientError) return error;
    const detail = this.#isAnswered
      ? noAnswer(this.#url, error)
      : await explainFailure(this.#platform, this.#url, error, limit);
    return clientError('unreachable', detail, error);
  }
}

export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Restarts the time. */
  restart(): void;
  /** Changes the duration. */
  extend(ms: number): void;
  /** Stops the time; the outer signal still counts. */
  disarm(): void;
  end(): void;
}

/** Returns a signal that follows another one and also aborts when the time is up. */
export function timeLimit(platform: Platform, outer: AbortSignal, firstMs: number): TimeLimit {
  const controller = new AbortController();
  const follow = () => controller.abort(outer.reason);
  let ms = firstMs;
  const isUp = () => controller.abort(clientError('unreachable', `no data arrived for ${Math.round(ms / 1_000)} s`));
  let cancel = platform.after(ms, isUp);
  const restart = () => {
    cancel();
    cancel = platform.after(ms, isUp);
  };
  if (outer.aborted) follow();
  else outer.addEventListener('abort', follow);
  return {
    signal: controller.signal,
    restart,
    extend: (stretchedMs) => {
      ms = stretchedMs;
      restart();
    },
    disarm: () => cancel(),
    end: () => {
      cancel();
      outer.removeEventListener('abort', follow);
    },
  };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw clientError('bad_answer', 'the answer is incomplete, or does not come from a Tidemark server', error);
  }
}

async function refusalOf(response: Response, nowMs: number): Promise<ClientError> {
  const { status } = response;
  const waitMs = retryAfterMs(response.headers.get('retry-after'), nowMs);
  const { code, detail } = await problemOf(response);
  return new ClientError(code, detail, { status, retryAfterMs: waitMs });
}

async function problemOf(response: Response): Promise<{ readonly code: string; readonly detail: string }> {
  const unnamed = { code: `http_${response.status}`, detail: `the server answered ${response.status}` };
  try {
    const problem: unknown = parseJson(await response.text());
    if (typeof problem !== 'object' || problem === null) return unnamed;
    const { code, detail } = problem as { readonly code?: unknown; readonly detail?: unknown };
    if (typeof code !== 'string') return unnamed;
    return { code, detail: typeof detail === 'string' ? detail : unnamed.detail };
  } catch {
    // Without a readable body the status alone is the error.
    return unnamed;
  }
}
