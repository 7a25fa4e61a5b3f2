import { type PartialError, Refusal } from '@tidemark/protocol';
import { AdapterRefusal } from '../ports/adapter.ts';

export interface RefreshFailure {
  readonly trouble: PartialError;
  /** Not before this long from now. */
  readonly retryAfterMs: number;
}

const MS_PER_S = 1_000;

/** What devices and operators are told of a failure. What an adapter throws beside refusals is for the log only. */
export function refreshFailureOf(error: unknown): RefreshFailure {
  if (error instanceof Refusal) {
    return {
      trouble: { code: error.code, detail: error.message },
      retryAfterMs: (error.retryAfterS ?? 0) * MS_PER_S,
    };
  }
  const detail = error instanceof AdapterRefusal ? error.message : 'the adapter of the source failed';
  return { trouble: { code: 'backend_error', detail }, retryAfterMs: 0 };
}
