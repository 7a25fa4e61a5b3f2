import { REFRESH_WAIT_MS_MAX } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { type DueFacts, isDue, waitAfterMs } from './is-due.ts';

const NOW = 1_000_000;
const WELL = { atMs: NOW - 10_000, failures: 0, retryAtMs: 0, freshUntilMs: 0 };

function due(changes: Partial<DueFacts>): boolean {
  return isDue({ nowMs: NOW, pollIntervalS: -1, refreshAtMs: null, state: WELL, ...changes });
}

describe('when a partition is due', () => {
  it('[FRESH-1] -1 never, 0 always, n when so many seconds have passed since the last query began', () => {
    const never = { ...WELL, atMs: null };
    expect([due({ pollIntervalS: -1 }), due({ pollIntervalS: -1, state: never })]).toEqual([false, false]);
    expect([due({ pollIntervalS: 0 }), due({ pollIntervalS: 0, state: never })]).toEqual([true, true]);
    expect([9, 10, 11].map((pollIntervalS) => due({ pollIntervalS }))).toEqual([true, true, false]);
    expect(due({ pollIntervalS: 300, state: never })).toBe(true);
  });

  it('[FRESH-2] what read_state says wins over the poll interval, and over the wait after a failure', () => {
    for (const pollIntervalS of [-1, 0, 5]) {
      expect(due({ pollIntervalS, refreshAtMs: NOW })).toBe(true);
      expect(due({ pollIntervalS, refreshAtMs: NOW + 1 })).toBe(false);
    }
    expect(due({ refreshAtMs: NOW, state: { ...WELL, failures: 3, retryAtMs: NOW + 60_000 } })).toBe(true);
  });

  it('[FRESH-15] a refresh that devices were told to wait for is fresh for a while, unless read_state says otherwise', () => {
    const late = { ...WELL, freshUntilMs: NOW + 1 };
    expect([0, 5].map((pollIntervalS) => due({ pollIntervalS, state: late }))).toEqual([false, false]);
    expect(due({ pollIntervalS: 0, state: { ...late, freshUntilMs: NOW } })).toBe(true);
    expect(due({ pollIntervalS: 0, refreshAtMs: NOW, state: late })).toBe(true);
  });

  it('[FRESH-3] after a failure it is due when the wait is over, not before, whatever the poll interval', () => {
    for (const pollIntervalS of [-1, 0, 300]) {
      const waiting = { ...WELL, failures: 1, retryAtMs: NOW + 1 };
      expect(due({ pollIntervalS, state: waiting })).toBe(false);
      expect(due({ pollIntervalS, state: { ...waiting, retryAtMs: NOW } })).toBe(true);
    }
  });

  it('[FRESH-3] waits double up to their maximum, and differ', () => {
    expect([1, 2, 3].map((failures) => waitAfterMs(failures, 1))).toEqual([5_000, 10_000, 20_000]);
    expect(waitAfterMs(1, 0)).toBe(2_500);
    expect(waitAfterMs(1_000_000, 1)).toBe(REFRESH_WAIT_MS_MAX);
  });
});
