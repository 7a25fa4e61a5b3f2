import type { TidemarkError } from './tidemark-error.ts';

export interface RetryPolicy {
  /** All attempts together, the first included. 1: nothing is repeated. */
  readonly attemptsMax: number;
  /** The pause after the first attempt is at most this, after each further one at most twice as much as before. */
  readonly firstPauseMsMax: number;
  /** No pause is longer, and a server that asks for more is not waited for. */
  readonly pauseMsMax: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = { attemptsMax: 5, firstPauseMsMax: 500, pauseMsMax: 30_000 };

/**
 * What a repetition could do. `harmless`: the call made twice leaves what the call made once leaves. `harmful`: it would
 * act twice (a ping), or tell an untruth about itself (a creation that finds what it created).
 */
export type Repetition = 'harmless' | 'harmful';

/** Refused at the door: whatever the call is, it had no effect. */
const REFUSED_AT_THE_DOOR: ReadonlySet<string> = new Set(['rate_limited', 'overloaded']);
/** Somebody between us and the server gave up, or the server has trouble that passes. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);
/** Nothing was written, because others kept writing the same. */
const WRITE_CONFLICT = 'write_conflict';

export interface FailedAttempt {
  /** The first attempt is number 1. */
  readonly attempt: number;
  readonly error: TidemarkError;
  readonly repetition: Repetition;
}

/** How long to pause before the next attempt, or null when there must not be one. Full jitter: `dice` is from 0 to 1. */
export function pauseBeforeNextMs(
  policy: RetryPolicy,
  { attempt, error, repetition }: FailedAttempt,
  dice: number,
): number | null {
  if (attempt >= policy.attemptsMax || !mayRepeat(error, repetition)) return null;
  const ceilingMs = Math.min(policy.pauseMsMax, policy.firstPauseMsMax * 2 ** (attempt - 1));
  const askedMs = error.retryAfterMs ?? 0;
  return askedMs > policy.pauseMsMax ? null : askedMs + dice * ceilingMs;
}

function mayRepeat(error: TidemarkError, repetition: Repetition): boolean {
  if (error.wasNeverSent || REFUSED_AT_THE_DOOR.has(error.code)) return true;
  if (repetition === 'harmful') return false;
  return (
    error.code === 'unreachable' ||
    error.code === 'timeout' ||
    error.code === WRITE_CONFLICT ||
    PASSING_STATUSES.has(error.status ?? 0)
  );
}
