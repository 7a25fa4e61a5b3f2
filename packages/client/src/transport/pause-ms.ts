import { PAUSE_MS_FIRST, PAUSE_MS_MAX, RETRY_AFTER_MS_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';

/**
 * Returns the pause after consecutive failures: a random time up to a bound that doubles (full jitter), plus the
 * Retry-After of the server. So devices that failed together do not come back together.
 */
export function pauseMs(platform: Platform, failures: number, retryAfterMs: number | null): number {
  const most = Math.min(PAUSE_MS_MAX, PAUSE_MS_FIRST * 2 ** Math.min(failures - 1, 30));
  const ordered = Math.min(retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
  return Math.round(ordered + fraction(platform) * most);
}

/** Returns a random fraction from 0 to just below 1. */
export function fraction(platform: Platform): number {
  const [a = 0, b = 0, c = 0] = platform.randomBytes(3);
  return ((a << 16) | (b << 8) | c) / 2 ** 24;
}
