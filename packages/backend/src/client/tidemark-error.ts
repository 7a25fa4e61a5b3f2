import { type Flaw, type Problem, parseJson, type RefusalCode, retryAfterMs } from '@tidemark/protocol';

/** What can go wrong on this side of the wire. */
export type ClientCode =
  /** No connection, or it broke before the answer was whole. */
  | 'unreachable'
  /** No whole answer within `timeoutMs`. */
  | 'timeout'
  /** An answer that no Tidemark server gives; a proxy in between, perhaps. */
  | 'unexpected_answer'
  /** A value that cannot be sent at all. */
  | 'invalid_argument'
  /** A file of objects that is not what it should be. */
  | 'invalid_input'
  /** One object that does not fit into a call by itself. */
  | 'object_too_large'
  /** More than one call can hold, where `atomic` asked for one call. */
  | 'push_too_large';

/** How far a push got: everything counted here is committed, whatever happens later. */
export interface PushProgress {
  readonly chunks: number;
  readonly objects: number;
  readonly bytes: number;
  readonly changed: number;
  readonly unchanged: number;
}

export interface ErrorParticulars {
  readonly status?: number | null;
  readonly request_id?: string | null;
  readonly errors?: readonly Flaw[];
  readonly hint?: string | null;
  readonly retryAfterMs?: number | null;
  readonly wasNeverSent?: boolean;
  readonly cause?: unknown;
}

/**
 * A call that did not go well. `code` is stable: one of the server's catalogue (docs/errors.md), one of `ClientCode`, or
 * `http_<status>` when something that is not Tidemark answered. No secret stands in any field.
 */
export class TidemarkError extends Error {
  override readonly name = 'TidemarkError';
  readonly code: RefusalCode | ClientCode | `http_${number}`;
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** For the operator of the server: its log has the same id. */
  readonly request_id: string | null;
  /** The places in the request that are wrong, as JSON pointers. */
  readonly errors: readonly Flaw[];
  readonly hint: string | null;
  /** When the server wants to be asked again, where it said so. */
  readonly retryAfterMs: number | null;
  /** The request never left, so it can have had no effect. */
  readonly wasNeverSent: boolean;
  /** How often the call was tried. */
  attempts = 1;
  /** Of a push: what had been committed before. */
  pushed: PushProgress | null = null;

  constructor(code: TidemarkError['code'], detail: string, particulars: ErrorParticulars = {}) {
    super(detail, particulars.cause === undefined ? {} : { cause: particulars.cause });
    this.code = code;
    this.status = particulars.status ?? null;
    this.request_id = particulars.request_id ?? null;
    this.errors = particulars.errors ?? [];
    this.hint = particulars.hint ?? null;
    this.retryAfterMs = particulars.retryAfterMs ?? null;
    this.wasNeverSent = particulars.wasNeverSent ?? false;
  }
}

/** A proxy in between may answer with a whole page. */
const TOLD_UNITS_MAX = 300;

/** What an answer other than 200 says, whoever gave it. */
export function problemError(response: Response, text: string, nowMs: number): TidemarkError {
  const { status, statusText, headers } = response;
  const problem = problemIn(headers.get('content-type') ?? '', text);
  const plain = text.trim().slice(0, TOLD_UNITS_MAX);
  // The specification allows an empty body; then the status is all there is.
  const detail = problem.detail ?? problem.title ?? (plain || `the server answered ${status} ${statusText}`.trim());
  return new TidemarkError((problem.code as TidemarkError['code'] | undefined) ?? `http_${status}`, detail, {
    status,
    request_id: problem.request_id ?? headers.get('x-request-id'),
    errors: (problem.errors ?? []) as readonly Flaw[],
    hint: problem.hint ?? redirectHint(response),
    retryAfterMs: retryAfterMs(headers.get('retry-after'), nowMs),
  });
}

function problemIn(contentType: string, text: string): Partial<Problem> {
  if (!/\bjson\b/.test(contentType)) return {};
  try {
    const value: unknown = parseJson(text);
    return typeof value === 'object' && value !== null ? (value as Partial<Problem>) : {};
  } catch {
    return {};
  }
}

/** Redirects are not followed, since that would carry the token to somebody else. */
function redirectHint({ status, headers }: Response): string | null {
  if (status < 300 || status >= 400) return null;
  return `the server points to ${headers.get('location')}; if that is right, use it as url`;
}
