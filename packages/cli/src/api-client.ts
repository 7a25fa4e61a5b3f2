import { ActivityCalls, type ActivityOptions } from '@tidemark/backend/activity';
import {
  path as encodedPath,
  type Outgoing,
  type TextAnswer,
  TidemarkError,
  Transport,
} from '@tidemark/backend/transport';
import { type ActivityEvent, errorMessage, LIST_MAX, parseJson } from '@tidemark/protocol';
import { CliFailure, EXIT, type ExitCode, type FailureParticulars, usageFailure } from './cli-failure.ts';

export interface ApiOptions {
  readonly url: string;
  /** Null: only public routes can be called. */
  readonly token: string | null;
  readonly timeoutMs: number;
}

export interface Request {
  readonly query?: NonNullable<Outgoing['query']>;
  /** JSON text. It is sent unchanged, so that numbers from a file keep all digits. */
  readonly body?: string;
  readonly accept?: string;
}

/** Calls one server once, without repetition. Everything but a success is a `CliFailure` with what the server said. */
export class ApiClient {
  readonly #options: ApiOptions;
  readonly #transport: Transport;

  constructor(options: ApiOptions) {
    this.#options = options;
    const { url, token, timeoutMs } = options;
    this.#transport = new Transport({
      url,
      timeoutMs,
      retry: { attemptsMax: 1 },
      ...(token === null ? {} : { token }),
    });
  }

  async get<T>(path: string, query: Request['query'] = {}): Promise<T> {
    return parsed<T>(await this.call('GET', path, { query }), path);
  }

  async send<T>(method: 'POST' | 'PUT', path: string, body: object): Promise<T> {
    return parsed<T>(await this.call(method, path, { body: JSON.stringify(body) }), path);
  }

  /** Iterates over what happens on all servers. */
  async *activity(options: ActivityOptions): AsyncGenerator<ActivityEvent, void> {
    try {
      yield* new ActivityCalls(this.#transport).watch(options);
    } catch (error) {
      throw error instanceof TidemarkError ? this.#failureOf(error) : error;
    }
  }

  /** Reads an answer of any size as bytes. */
  async *download(path: string): AsyncGenerator<Uint8Array, void> {
    try {
      const request = { method: 'GET', path, repetition: 'harmful', accept: '*/*' } as const;
      yield* await this.#transport.stream(request);
    } catch (error) {
      throw error instanceof TidemarkError ? this.#failureOf(error) : error;
    }
  }

  async delete<T>(path: string): Promise<T> {
    return parsed<T>(await this.call('DELETE', path), path);
  }

  async call(method: Outgoing['method'], path: string, request: Request = {}): Promise<TextAnswer> {
    try {
      return await this.#transport.text({ method, path, repetition: 'harmful', ...request });
    } catch (error) {
      throw error instanceof TidemarkError ? this.#failureOf(error) : error;
    }
  }

  #failureOf(error: TidemarkError): CliFailure {
    const { url, timeoutMs } = this.#options;
    if (error.code === 'timeout') {
      return new CliFailure(`${url} has not answered within ${timeoutMs / 1_000} s`, {
        exitCode: EXIT.unavailable,
        hint: 'the call may still take effect; --timeout gives it longer',
      });
    }
    if (error.code === 'unreachable') {
      return new CliFailure(`no server answers at ${url} (${reasonOf(error.cause)})`, {
        exitCode: EXIT.unavailable,
        hint: 'start one with tidemark serve, or name another with --url or TIDEMARK_URL',
      });
    }
    return new CliFailure(error.message, particularsOf(error, url));
  }
}

function reasonOf(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  return code ?? message;
}

function particularsOf(error: TidemarkError, url: string): FailureParticulars {
  const { code, request_id: requestId, errors } = error;
  const hint = hintOf(error, url);
  return {
    exitCode: exitCodeOf(error.status),
    ...(code.startsWith('http_') ? {} : { code }),
    ...(hint === null ? {} : { hint }),
    ...(requestId === null ? {} : { requestId }),
    places: errors.map(({ pointer, detail }) => `${pointer}: ${detail}`),
  };
}

function parsed<T>({ text, isJson }: TextAnswer, path: string): T {
  try {
    if (isJson) return parseJson(text) as T;
  } catch {
    // Reported below.
  }
  throw new CliFailure(`the answer to ${path} is not JSON; is this a Tidemark server?`);
}

function exitCodeOf(status: number | null): ExitCode {
  if (status === 401 || status === 403) return EXIT.notAllowed;
  return status === 502 || status === 503 || status === 504 ? EXIT.unavailable : EXIT.failed;
}

function hintOf({ status, hint, retryAfterMs }: TidemarkError, url: string): string | null {
  if (status !== null && status >= 300 && status < 400) return `${hint} (--url)`;
  if (hint !== null) return hint;
  if (status === 401) return `log in with tidemark login --url ${url}`;
  return retryAfterMs === null ? null : `try again in ${Math.ceil(retryAfterMs / 1_000)} s`;
}

/** Builds a path from a template; each value is encoded, so that it stays inside its segment. */
export function path(parts: TemplateStringsArray, ...values: readonly string[]): string {
  try {
    return encodedPath(parts, ...values);
  } catch (error) {
    throw usageFailure(errorMessage(error));
  }
}

/** Reads all pages of a listing. `keyOf` returns the key after which the next page begins. */
export async function listAll<T>(api: ApiClient, path: string, keyOf: (item: T) => string): Promise<readonly T[]> {
  const items: T[] = [];
  for (;;) {
    const last = items.at(-1);
    const page = await api.get<readonly T[]>(path, {
      limit: LIST_MAX,
      ...(last === undefined ? {} : { after: keyOf(last) }),
    });
    items.push(...page);
    if (page.length < LIST_MAX) return items;
  }
}
