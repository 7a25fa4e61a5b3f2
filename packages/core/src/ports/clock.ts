import { CLOCK_SKEW_MS_MAX } from '@tidemark/protocol';

/** The only source of the current time. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
}

/**
 * Whether a stored time is so far in the future that the clock that wrote it must have been ahead. Waiting for such a time
 * could take as long as the clock was ahead, so it counts as past. Small differences between servers are tolerated.
 */
export function isAhead(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + CLOCK_SKEW_MS_MAX;
}

/** Returns the time since a stored time. A time too far in the future counts as infinitely long ago. */
export function elapsedMs(sinceMs: number, nowMs: number): number {
  return isAhead(sinceMs, nowMs) ? Number.POSITIVE_INFINITY : Math.max(0, nowMs - sinceMs);
}
