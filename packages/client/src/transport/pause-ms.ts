import { PAUSE_MS_FIRST, PAUSE_MS_MAX, RETRY_AFTER_MS_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';

/**
 * How long to stay away after a number of failures in a row: anything up to a bound that doubles each time. Since the
 * whole span is used, devices that failed together do not come back together. What the server asked for is added.
 */
export function pauseMs(platform: Platform, failures: number, retryAfterMs: number | null): number {
  const most = Math.min(PAUSE_MS_MAX, PAUSE_MS_FIRST * 2 ** Math.min(failures - 1, 30));
  const ordered = Math.min(retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
  return Math.round(ordered + fraction(platform) * most);
}

/** From 0 to just below 1. */
export function fraction(platform: Platform): number {
  const [a = 0, b = 0, c = 0] = platform.randomBytes(3);
  return ((a << 16) | (b << 8) | c) / 2 ** 24;
}
