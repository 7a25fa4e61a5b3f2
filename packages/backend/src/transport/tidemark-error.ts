import { type Flaw, type Problem, parseMembers, type RefusalCode, retryAfterMs } from '@tidemark/protocol';

/** Errors of the client itself. */
export type ClientCode =
  /** There was no connection, or it broke before the answer was complete. */
  | 'unreachable'
  /** There was no complete answer within `timeoutMs`. */
  | 'timeout'
  /** The answer does not come from a Tidemark server, but perhaps from a proxy. */
  | 'unexpected_answer'
  /** A value that cannot be sent at all. */
  | 'invalid_argument'
  /** A file of objects is not valid. */
  | 'invalid_input'
  /** One object does not fit into a call. */
  | 'object_too_large'
  /** The objects do not fit into one call, which `atomic` requires. */
  | 'push_too_large';

/** The progress of a push. Everything counted here is committed. */
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
 * A call that failed. `code` is stable: a code of the server (docs/reference/errors.md), a `ClientCode`, or `http_<status>` when the
 * answer is not from Tidemark. No field holds a secret.
 */
export class TidemarkError extends Error {
  override readonly name = 'TidemarkError';
  readonly code: RefusalCode | ClientCode | `http_${number}`;
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** The id of the request in the log of the server. */
  readonly request_id: string | null;
  /** The invalid parts of the request, as JSON pointers. */
  readonly errors: readonly Flaw[];
  readonly hint: string | null;
  /** The wait the server asked for, if it did. */
  readonly retryAfterMs: number | null;
  /** True: the request was not sent, so it had no effect. */
  readonly wasNeverSent: boolean;
  /** How often the call was tried. */
  attempts = 1;
  /** The progress of a push before it failed. */
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

/** A proxy may answer with a whole page, which is cut off. */
const DETAIL_UNITS_MAX = 300;

/** Returns the error of an answer other than 200. */
export function problemError(response: Response, text: string, nowMs: number): TidemarkError {
  const { status, statusText, headers } = response;
  const problem = problemIn(headers.get('content-type') ?? '', text);
  const plain = text.trim().slice(0, DETAIL_UNITS_MAX);
  // The specification allows an empty body.
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
  return /\bjson\b/.test(contentType) ? (parseMembers(text) as Partial<Problem>) : {};
}

/** Redirects are not followed, because that would send the token to another server. */
function redirectHint({ status, headers }: Response): string | null {
  if (status < 300 || status >= 400) return null;
  return `the server points to ${headers.get('location')}; if that is right, use it as url`;
}
