import { TidemarkClient, TidemarkError } from '@tidemark/backend';
import { Transport } from '@tidemark/backend/transport';
import { CliFailure, EXIT, type ExitCode, type FailureParticulars, usageFailure } from './cli-failure.ts';

export interface ApiOptions {
  readonly url: string;
  /** Null: only public routes can be called. */
  readonly token: string | null;
  readonly timeoutMs: number;
}

/** Opens a client that makes every call once, without repetition. */
export function openApi(options: ApiOptions): TidemarkClient {
  return new TidemarkClient(clientOptions(options));
}

/** For the routes outside the API, such as `/version`. */
export function openTransport(options: ApiOptions): Transport {
  return new Transport(clientOptions(options));
}

function clientOptions({ url, token, timeoutMs }: ApiOptions) {
  return { url, timeoutMs, retry: { attemptsMax: 1 }, ...(token === null ? {} : { token }) };
}

/** Runs calls to a server. Their errors become failures of the command, which say what the server said. */
export async function withFailures<T>(
  options: Pick<ApiOptions, 'url' | 'timeoutMs'>,
  calls: () => Promise<T>,
): Promise<T> {
  try {
    return await calls();
  } catch (error) {
    throw error instanceof TidemarkError ? failureOf(error, options) : error;
  }
}

function failureOf(error: TidemarkError, { url, timeoutMs }: Pick<ApiOptions, 'url' | 'timeoutMs'>): CliFailure {
  if (error.code === 'invalid_argument') return usageFailure(error.message);
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

function exitCodeOf(status: number | null): ExitCode {
  if (status === 401 || status === 403) return EXIT.notAllowed;
  return status === 502 || status === 503 || status === 504 ? EXIT.unavailable : EXIT.failed;
}

/** The way out of a schema that breaks apps. */
export const BREAKING_HINT =
  'name the steps from the old schema to the new one with --steps, keep what is missing as deprecated, or break older apps with schema set --force';

function hintOf({ code, status, hint, retryAfterMs }: TidemarkError, url: string): string | null {
  if (status !== null && status >= 300 && status < 400) return `${hint} (--url)`;
  if (hint !== null) return hint;
  if (code === 'schema_breaking') return BREAKING_HINT;
  if (status === 401) return `log in with tidemark login --url ${url}`;
  return retryAfterMs === null ? null : `try again in ${Math.ceil(retryAfterMs / 1_000)} s`;
}

/** Leaves out the options that were not given. */
export function given<T extends object>(options: T): Given<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>;
}

type Given<T> = { readonly [Name in keyof T]?: Exclude<T[Name], undefined> };

/** Reads all that a listing yields. */
export async function allOf<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
