import { parseJson } from '@tidemark/protocol';
import { CliFailure, type FailureParticulars } from './cli-failure.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface ApiOptions {
  readonly url: string;
  /** Null: only for the routes that need none. */
  readonly token: string | null;
  readonly timeoutMs: number;
}

export interface Request {
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** JSON text, sent as it is: what a file holds must not lose digits on the way. */
  readonly body?: string;
  readonly accept?: string;
}

export interface Answer {
  readonly text: string;
  readonly isJson: boolean;
}

/** RFC 9457, as far as it is shown. */
interface Problem {
  readonly title?: string;
  readonly detail?: string;
  readonly code?: string;
  readonly hint?: string;
  readonly request_id?: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
}

/** A proxy in between may answer with a whole page. */
const TOLD_UNITS_MAX = 300;

/** Speaks to one server. Everything but a success is a `CliFailure` with what the server said. */
export class ApiClient {
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  async get<T>(path: string, query: Request['query'] = {}): Promise<T> {
    return parsed<T>(await this.call('GET', path, { query }), path);
  }

  async send<T>(method: 'POST' | 'PUT', path: string, body: object): Promise<T> {
    return parsed<T>(await this.call(method, path, { body: JSON.stringify(body) }), path);
  }

  async delete<T>(path: string): Promise<T> {
    return parsed<T>(await this.call('DELETE', path), path);
  }

  async call(method: Method, path: string, request: Request = {}): Promise<Answer> {
    const response = await this.#fetch(method, path, request);
    const text = await this.#textOf(response);
    const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
    if (response.status === 200) return { text, isJson };
    throw this.#refusal(response, isJson ? problemIn(text) : { detail: text.trim().slice(0, TOLD_UNITS_MAX) });
  }

  async #fetch(method: Method, path: string, { query = {}, body, accept }: Request): Promise<Response> {
    const { url, token, timeoutMs } = this.#options;
    const headers: Record<string, string> = { accept: accept ?? 'application/json' };
    if (token !== null) headers['x-sync-api-token'] = token;
    if (body !== undefined) headers['content-type'] = 'application/json';
    try {
      return await fetch(`${url}${path}${queryText(query)}`, {
        method,
        headers,
        // A redirect could carry the token to somebody else.
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
        ...(body === undefined ? {} : { body }),
      });
    } catch (error) {
      throw this.#unreachable(error);
    }
  }

  async #textOf(response: Response): Promise<string> {
    try {
      return await response.text();
    } catch (error) {
      throw this.#unreachable(error);
    }
  }

  #unreachable(error: unknown): CliFailure {
    const { url, timeoutMs } = this.#options;
    const { name, cause } = error as Error & { readonly cause?: NodeJS.ErrnoException };
    if (name === 'TimeoutError') {
      return new CliFailure(`${url} has not answered within ${timeoutMs / 1_000} s`, {
        exitCode: EXIT.unavailable,
        hint: 'the call may still take effect; --timeout gives it longer',
      });
    }
    return new CliFailure(`no server answers at ${url} (${cause?.code ?? cause?.message ?? String(error)})`, {
      exitCode: EXIT.unavailable,
      hint: 'start one with tidemark serve, or name another with --url or TIDEMARK_URL',
    });
  }

  #refusal(response: Response, problem: Problem): CliFailure {
    const { status, statusText, headers } = response;
    const requestId = problem.request_id ?? headers.get('x-request-id') ?? undefined;
    const hint = problem.hint ?? hintOf(response, this.#options.url);
    const particulars: FailureParticulars = {
      exitCode: exitCodeOf(status),
      ...(problem.code === undefined ? {} : { code: problem.code }),
      ...(hint === undefined ? {} : { hint }),
      ...(requestId === undefined ? {} : { requestId }),
      places: (problem.errors ?? []).map(({ pointer, detail }) => `${pointer}: ${detail}`),
    };
    // A body may be empty; then the status is all there is.
    return new CliFailure(
      problem.detail || problem.title || `the server answered ${status} ${statusText}`,
      particulars,
    );
  }
}

function parsed<T>({ text, isJson }: Answer, path: string): T {
  if (isJson) {
    try {
      return parseJson(text) as T;
    } catch {
      // Told below: it is not what a Tidemark server answers.
    }
  }
  throw new CliFailure(`the answer to ${path} is not JSON; is this a Tidemark server?`);
}

function problemIn(text: string): Problem {
  try {
    return (parseJson(text) as Problem | null) ?? {};
  } catch {
    return {};
  }
}

function queryText(query: NonNullable<Request['query']>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

function exitCodeOf(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT.notAllowed;
  return status === 502 || status === 503 || status === 504 ? EXIT.unavailable : EXIT.failed;
}

function hintOf({ status, headers }: Response, url: string): string | undefined {
  if (status === 401) return `log in with tidemark login --url ${url}`;
  const retryAfter = headers.get('retry-after');
  if (retryAfter !== null) return `try again in ${retryAfter} s`;
  return status >= 300 && status < 400
    ? `the server points to ${headers.get('location')}; use that as --url`
    : undefined;
}
