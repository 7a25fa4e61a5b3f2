import { parseJson } from '@tidemark/protocol';
import { type Platform, pause, systemPlatform } from '../platform.ts';
import { Deadline } from './deadline.ts';
import { DEFAULT_RETRY_POLICY, pauseBeforeNextMs, type Repetition, type RetryPolicy } from './retry-policy.ts';
import { problemError, TidemarkError } from './tidemark-error.ts';

export { path } from './path.ts';
export { TidemarkError };

export interface ClientOptions {
  /** The URL of the server, without the path of the API: `http://127.0.0.1:9292`. */
  readonly url: string;
  /** Required for all calls except logins. A backend that only pushes needs the scope `push`. */
  readonly token?: string;
  /** The time for one attempt, from the first byte sent to the last byte read. */
  readonly timeoutMs?: number;
  /** The largest answer that is read as a whole. */
  readonly answerBytesMax?: number;
  readonly retry?: Partial<RetryPolicy>;
  /** For tests, and for runtimes with a `fetch` of their own. */
  readonly platform?: Partial<Platform>;
}

export interface CallOptions {
  /** Aborts the call, also during a pause. A request that was sent may still take effect. */
  readonly signal?: AbortSignal;
  /** The time for one attempt, instead of that of the client. */
  readonly timeoutMs?: number;
}

export interface Outgoing {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** JSON text, or bytes. */
  readonly body?: string | BodyBytes;
  /** The media type of the body; absent: JSON. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly repetition: Repetition;
  /** The media types that are wanted; JSON when absent. */
  readonly accept?: string;
  /** True: the answer may be a link to another host, which gets the headers and never the token. */
  readonly followsLink?: boolean;
}

/** Bytes to send. A stream can be sent only once, so a call with one is never repeated. */
export type BodyBytes = Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>;

/** An answer as it was sent. */
export interface TextAnswer {
  readonly text: string;
  readonly isJson: boolean;
}

const JSON_TYPE = 'application/json';
const TIMEOUT_MS = 30_000;
const ANSWER_BYTES_MAX = 256_000_000;
/** Refusals are short. Longer bodies are not from Tidemark and are cut off. */
const REFUSAL_BYTES_MAX = 1_000_000;

/** Failures before anything was sent. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Sends calls to one server and repeats them where that is safe. Failures are thrown as `TidemarkError`. */
export class Transport {
  readonly #options: ClientOptions;
  readonly #base: string;
  readonly #platform: Platform;
  readonly #policy: RetryPolicy;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#base = baseOf(options.url);
    this.#platform = { ...systemPlatform, ...options.platform };
    this.#policy = { ...DEFAULT_RETRY_POLICY, ...options.retry };
  }

  get<T>(path: string, options?: CallOptions, query: NonNullable<Outgoing['query']> = {}): Promise<T> {
    return this.call({ method: 'GET', path, query, repetition: 'harmless' }, options);
  }

  post<T>(path: string, body: object, repetition: Repetition, options?: CallOptions): Promise<T> {
    return this.call({ method: 'POST', path, body: JSON.stringify(body), repetition }, options);
  }

  /** A second replacement leaves what the first has left. */
  put<T>(path: string, body: object, options?: CallOptions): Promise<T> {
    return this.call({ method: 'PUT', path, body: JSON.stringify(body), repetition: 'harmless' }, options);
  }

  /** A repeated deletion would report that there was nothing to delete, so it is repeated only when necessary. */
  delete<T>(path: string, options?: CallOptions): Promise<T> {
    return this.call({ method: 'DELETE', path, repetition: 'harmful' }, options);
  }

  /** The answer as a JSON value. */
  call<T>(outgoing: Outgoing, options: CallOptions = {}): Promise<T> {
    return this.#withRetries(outgoing, options, async (response, deadline) => {
      const text = await textOf(response, this.#options.answerBytesMax ?? ANSWER_BYTES_MAX);
      deadline.release();
      return jsonIn<T>(response, text);
    });
  }

  /** Returns the answer as text, so that numbers keep their spelling. */
  text(outgoing: Outgoing, options: CallOptions = {}): Promise<TextAnswer> {
    return this.#withRetries(outgoing, options, async (response, deadline) => {
      const text = await textOf(response, this.#options.answerBytesMax ?? ANSWER_BYTES_MAX);
      deadline.release();
      return { text, isJson: isJson(response) };
    });
  }

  /** Returns the answer as a stream. After its first byte there are no repetitions and no timeout. */
  stream(outgoing: Outgoing, options: CallOptions = {}): Promise<AsyncIterable<Uint8Array>> {
    return this.#withRetries(outgoing, options, async (response, deadline) => {
      deadline.stopClock();
      return this.#bytesOf(response, deadline, options.signal);
    });
  }

  async #withRetries<T>(
    outgoing: Outgoing,
    options: CallOptions,
    read: (response: Response, deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(outgoing, options, read);
      } catch (error) {
        if (!(error instanceof TidemarkError)) throw error;
        error.attempts = attempt;
        const jitter = this.#platform.random();
        const pauseMs = pauseBeforeNextMs(this.#policy, { attempt, error, repetition: outgoing.repetition }, jitter);
        if (pauseMs === null) throw error;
        await pause(this.#platform, pauseMs, options.signal);
      }
    }
  }

  async #attempt<T>(
    outgoing: Outgoing,
    { signal, timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS }: CallOptions,
    read: (response: Response, deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const deadline = new Deadline(this.#platform, timeoutMs, signal);
    try {
      const response = await this.#fetch(outgoing, deadline.signal);
      if (response.status === 200 || response.status === 206) return await read(response, deadline);
      const text = await textOf(response, REFUSAL_BYTES_MAX, 'cut');
      throw problemError(response, text, this.#platform.nowMs());
    } catch (error) {
      deadline.release();
      if (error instanceof TidemarkError) throw error;
      signal?.throwIfAborted();
      throw deadline.isSpent ? this.#tooLate(timeoutMs) : this.#unreachable(error);
    }
  }

  async #fetch(outgoing: Outgoing, signal: AbortSignal): Promise<Response> {
    const response = await this.#platform.fetch(this.#urlOf(outgoing), this.#initOf(outgoing, signal));
    const link = response.headers.get('location');
    if (outgoing.followsLink !== true || response.status !== 307 || link === null) return response;
    await response.body?.cancel();
    return this.#platform.fetch(link, { headers: { ...outgoing.headers }, redirect: 'manual', signal });
  }

  async *#bytesOf(response: Response, deadline: Deadline, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    try {
      yield* chunksOf(response);
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#unreachable(error);
    } finally {
      deadline.release();
    }
  }

  #urlOf({ path, query = {} }: Outgoing): string {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
    return `${this.#base}${path}${parameters.size === 0 ? '' : `?${parameters.toString()}`}`;
  }

  #initOf({ method, body, type, accept = JSON_TYPE, headers: others }: Outgoing, signal: AbortSignal): RequestInit {
    const headers: Record<string, string> = { ...others, accept };
    if (this.#options.token !== undefined) headers['x-sync-api-token'] = this.#options.token;
    if (body === undefined) return { method, headers, redirect: 'manual', signal };
    headers['content-type'] = type ?? JSON_TYPE;
    // Runtimes demand it of a stream.
    const duplex = body instanceof ReadableStream ? ({ duplex: 'half' } as const) : {};
    return { method, headers, redirect: 'manual', signal, body, ...duplex };
  }

  #tooLate(timeoutMs: number): TidemarkError {
    return new TidemarkError('timeout', `${this.#base} has not answered within ${timeoutMs} ms`, {
      hint: 'the call may still take effect',
    });
  }

  #unreachable(error: unknown): TidemarkError {
    const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
    const code = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : null;
    return new TidemarkError('unreachable', `no answer from ${this.#base} (${code ?? 'the connection broke'})`, {
      wasNeverSent: code !== null && NEVER_SENT.has(code),
      cause,
    });
  }
}

function baseOf(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new TidemarkError('invalid_argument', 'url must be an absolute http or https URL');
  }
  const { username, password, search, hash } = new URL(url);
  if (username !== '' || password !== '' || search !== '' || hash !== '') {
    throw new TidemarkError('invalid_argument', 'url must have no login, password, query or fragment');
  }
  return url.replace(/\/+$/, '');
}

async function textOf(response: Response, bytesMax: number, beyond: 'cut' | 'fail' = 'fail'): Promise<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = '';
  // Leaving the loop early cancels the body.
  for await (const chunk of chunksOf(response)) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      if (beyond === 'cut') return text;
      throw new TidemarkError('unexpected_answer', `the answer is larger than ${bytesMax} bytes`, {
        status: response.status,
        hint: 'read large documents as a stream, or set answerBytesMax',
      });
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Reads a body without its own iterator, which some browsers lack. */
async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isDone = done;
      if (done) return;
      yield value;
    }
  } finally {
    if (!isDone) await reader.cancel().catch(() => undefined);
  }
}

function isJson(response: Response): boolean {
  return /\bjson\b/.test(response.headers.get('content-type') ?? '');
}

function jsonIn<T>(response: Response, text: string): T {
  if (isJson(response)) {
    try {
      return parseJson(text) as T;
    } catch {
      // Told below: it is not what a Tidemark server answers.
    }
  }
  throw new TidemarkError('unexpected_answer', 'the answer is not JSON; is this a Tidemark server?', {
    status: response.status,
    request_id: response.headers.get('x-request-id'),
  });
}
