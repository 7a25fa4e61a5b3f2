/**
 * What can be wrong with a call of the SDK. Refusals of the server keep their own code, see docs/errors.md; these are
 * the ones a device makes up itself.
 */
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
  | 'unknown_upload';

/** A handled no. `code` is a `ClientErrorCode`, or the code of a refusal when the server said no. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly code: string;
  /** The HTTP status, when the server answered. */
  readonly status: number | null;
  /** When the server wants to be asked again, as far as it said. */
  readonly retryAfterMs: number | null;

  constructor(
    code: string,
    detail: string,
    extra: { readonly status?: number; readonly retryAfterMs?: number | null; readonly cause?: unknown } = {},
  ) {
    super(detail, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.code = code;
    this.status = extra.status ?? null;
    this.retryAfterMs = extra.retryAfterMs ?? null;
  }
}

export function clientError(code: ClientErrorCode, detail: string, cause?: unknown): ClientError {
  return new ClientError(code, detail, { cause });
}

/** Any error as one of ours, for those who only want a code and a sentence. */
export function asClientError(error: unknown, code: ClientErrorCode): ClientError {
  if (error instanceof ClientError) return error;
  return clientError(code, error instanceof Error ? error.message : String(error), error);
}
