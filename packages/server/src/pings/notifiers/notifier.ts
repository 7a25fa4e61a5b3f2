import type { Notifier, PingFailure } from '@tidemark/core';

/** A notifier that keeps connections open. */
export interface ClosableNotifier extends Notifier {
  /** Sends nothing more; requests under way may finish. */
  close(): void;
}

type Details = Partial<Omit<PingFailure, 'status' | 'reason'>>;

/** A failed attempt; by default a retry may succeed. */
export function failed(reason: string, details: Details = {}): PingFailure {
  return { status: 'failed', reason, retryAfterMs: null, isFinal: false, ...details };
}

/** A failure that a retry would repeat. */
export function refused(reason: string): PingFailure {
  return failed(reason, { isFinal: true });
}
