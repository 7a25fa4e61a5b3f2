import type { Clock } from '@tidemark/core';

export interface SettableClock extends Clock {
  set(nowMs: number): void;
  advance(byMs: number): void;
}

/** A clock that stands still until a test moves it. */
export function settableClock(startMs = 1_700_000_000_000): SettableClock {
  let now = startMs;
  return {
    nowMs: () => now,
    set: (nowMs) => {
      now = nowMs;
    },
    advance: (byMs) => {
      now += byMs;
    },
  };
}
