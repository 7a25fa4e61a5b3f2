import type { TidemarkError } from './tidemark-error.ts';

export interface RetryPolicy {
  /** The number of attempts, the first included. 1: nothing is repeated. */
  readonly attemptsMax: number;
  /** The longest pause after the first attempt; it doubles with each further one. */
  readonly firstPauseMsMax: number;
  /** The longest pause. When a server asks for a longer one, the call fails. */
  readonly pauseMsMax: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = { attemptsMax: 5, firstPauseMsMax: 500, pauseMsMax: 30_000 };

/**
 * The effect of a repetition. `harmless`: the call is idempotent. `harmful`: it would act twice (a ping), or report a wrong
 * result (a creation that finds what it created).
 */
export type Repetition = 'harmless' | 'harmful';

/** Refusals before the call was executed, so it had no effect. */
const REFUSED_AT_THE_DOOR: ReadonlySet<string> = new Set(['rate_limited', 'overloaded']);
/** A proxy gave up, or the server has a temporary failure. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);
/** Nothing was written, because of conflicts with other writers. */
const WRITE_CONFLICT = 'write_conflict';

export interface FailedAttempt {
  /** The first attempt is number 1. */
  readonly attempt: number;
  readonly error: TidemarkError;
  readonly repetition: Repetition;
}

/** Returns the pause before the next attempt, or null when there is none. Full jitter: `jitter` is from 0 to 1. */
export function pauseBeforeNextMs(
  policy: RetryPolicy,
  { attempt, error, repetition }: FailedAttempt,
  jitter: number,
): number | null {
  if (attempt >= policy.attemptsMax || !mayRepeat(error, repetition)) return null;
  const ceilingMs = Math.min(policy.pauseMsMax, policy.firstPauseMsMax * 2 ** (attempt - 1));
  const askedMs = error.retryAfterMs ?? 0;
  return askedMs > policy.pauseMsMax ? null : askedMs + jitter * ceilingMs;
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
