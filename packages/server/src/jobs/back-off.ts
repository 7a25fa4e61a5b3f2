import type { Random } from '@tidemark/core';

export interface BackOff {
  /** The longest wait after the first attempt; it doubles with every further attempt. */
  readonly baseMs: number;
  /** The bound of all waits. */
  readonly capMs: number;
}

/**
 * Returns the wait after an attempt: a random time up to a ceiling that doubles (full jitter). So jobs that failed
 * together do not come back together.
 */
export function backOffMs(attempt: number, { baseMs, capMs }: BackOff, jitter: () => number): number {
  const ceilingMs = Math.min(capMs, baseMs * 2 ** (attempt - 1));
  return Math.floor(jitter() * (ceilingMs + 1));
}

const DICE_BYTES = 4;

/** Returns random fractions from 0 up to, not including, 1. */
export function jitterFrom(random: Random): () => number {
  return () => {
    const bytes = random.bytes(DICE_BYTES);
    return bytes.reduce((sum, byte) => sum * 256 + byte, 0) / 256 ** DICE_BYTES;
  };
}
