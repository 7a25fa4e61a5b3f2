import type { PingFailure } from '@tidemark/core';

type Details = Partial<Omit<PingFailure, 'status' | 'reason'>>;

/** An attempt that came to nothing; unless said otherwise another one may help. */
export function failed(reason: string, details: Details = {}): PingFailure {
  return { status: 'failed', reason, retryAfterMs: null, isFinal: false, ...details };
}

/** Another attempt would get the same answer. */
export function refused(reason: string): PingFailure {
  return failed(reason, { isFinal: true });
}
