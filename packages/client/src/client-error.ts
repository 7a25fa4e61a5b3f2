import { errorMessage } from '@tidemark/protocol';
/** Codes of errors that the SDK creates itself. Refusals of the server keep their own code, see docs/reference/errors.md. */
export type ClientErrorCode =
  | 'offline'
  | 'unreachable'
  | 'bad_answer'
  | 'signed_out'
  | 'sign_in_required'
  | 'uploads_pending'
  | 'closed'
  | 'aborted'
  | 'store_failed'
  | 'store_in_use'
  | 'store_damaged'
  | 'storage_full'
  | 'unknown_upload'
  | 'files_unsupported'
  | 'disk_unsupported'
  | 'invalid_request'
  | 'not_in_memory'
  | 'invalid_file'
  | 'invalid_url';

/**
 * An expected error. `code` is a `ClientErrorCode`, or the code of the server's refusal; `detail` is the same text as
 * `message`. Errors in `status` have the same members.
 */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly code: string;
  readonly detail: string;
  /** The HTTP status if the server answered. */
  readonly status: number | null;
  /** The wait that the server asked for, if any. */
  readonly retryAfterMs: number | null;

  constructor(
    code: string,
    detail: string,
    extra: { readonly status?: number; readonly retryAfterMs?: number | null; readonly cause?: unknown } = {},
  ) {
    super(detail, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.code = code;
    this.detail = detail;
    this.status = extra.status ?? null;
    this.retryAfterMs = extra.retryAfterMs ?? null;
  }
}

export function clientError(code: ClientErrorCode, detail: string, cause?: unknown): ClientError {
  return new ClientError(code, detail, { cause });
}

/** Turns any error into a `ClientError`, for callers that need a code and a message. */
export function asClientError(error: unknown, code: ClientErrorCode): ClientError {
  if (error instanceof ClientError) return error;
  return clientError(code, errorMessage(error), error);
}
