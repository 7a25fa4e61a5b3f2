import { CLOCK_SKEW_MS_MAX } from '@tidemark/protocol';

/** The only way to learn what time it is. */
export interface Clock {
  /** Milliseconds since the epoch of Unix. */
  nowMs(): number;
}

/**
 * Tells whether a stored moment lies so far ahead of now that the clock that wrote it must have been wrong: it was ahead
 * and has been set back since. Whoever waits for such a moment would wait for as long as the clock was ahead, so it
 * counts as past. Clocks of servers may differ by a little, which is not taken for that.
 */
export function isAhead(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + CLOCK_SKEW_MS_MAX;
}

/** How long ago a stored moment was; one that lies too far ahead was an unknown, long time ago. */
export function elapsedMs(sinceMs: number, nowMs: number): number {
  return isAhead(sinceMs, nowMs) ? Number.POSITIVE_INFINITY : Math.max(0, nowMs - sinceMs);
}
