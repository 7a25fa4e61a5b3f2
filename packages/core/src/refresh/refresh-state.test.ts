import { REFRESH_WAIT_MS_MAX } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { type DueFacts, isDue, waitAfterMs } from './refresh-state.ts';

const NOW = 1_000_000;
const WELL = { atMs: NOW - 10_000, failures: 0, retryAtMs: 0, freshUntilMs: 0 };

function due(changes: Partial<DueFacts>): boolean {
  return isDue({ nowMs: NOW, pollIntervalS: -1, refreshAtMs: null, state: WELL, ...changes });
}

describe('when a partition is due', () => {
  it('[FRESH-1] a partition is due never for -1, always for 0, and for n when n seconds have passed since the last query began', () => {
    const never = { ...WELL, atMs: null };
    expect([due({ pollIntervalS: -1 }), due({ pollIntervalS: -1, state: never })]).toEqual([false, false]);
    expect([due({ pollIntervalS: 0 }), due({ pollIntervalS: 0, state: never })]).toEqual([true, true]);
    expect([9, 10, 11].map((pollIntervalS) => due({ pollIntervalS }))).toEqual([true, true, false]);
    expect(due({ pollIntervalS: 300, state: never })).toBe(true);
  });

  it('[FRESH-2] a time in read_state takes precedence over the poll interval and the back-off', () => {
    for (const pollIntervalS of [-1, 0, 5]) {
      expect(due({ pollIntervalS, refreshAtMs: NOW })).toBe(true);
      expect(due({ pollIntervalS, refreshAtMs: NOW + 1 })).toBe(false);
    }
    expect(due({ refreshAtMs: NOW, state: { ...WELL, failures: 3, retryAtMs: NOW + 60_000 } })).toBe(true);
  });

  it('[FRESH-15] after a late refresh the partition is not due for a while, unless read_state asks for it', () => {
    const late = { ...WELL, freshUntilMs: NOW + 1 };
    expect([0, 5].map((pollIntervalS) => due({ pollIntervalS, state: late }))).toEqual([false, false]);
    expect(due({ pollIntervalS: 0, state: { ...late, freshUntilMs: NOW } })).toBe(true);
    expect(due({ pollIntervalS: 0, refreshAtMs: NOW, state: late })).toBe(true);
  });

  it('[FRESH-3] after a failure a partition is due when the back-off has ended, whatever the poll interval', () => {
    for (const pollIntervalS of [-1, 0, 300]) {
      const waiting = { ...WELL, failures: 1, retryAtMs: NOW + 1 };
      expect(due({ pollIntervalS, state: waiting })).toBe(false);
      expect(due({ pollIntervalS, state: { ...waiting, retryAtMs: NOW } })).toBe(true);
    }
  });

  it('[FRESH-3] the back-off doubles up to its maximum, and has jitter', () => {
    expect([1, 2, 3].map((failures) => waitAfterMs(failures, 1))).toEqual([5_000, 10_000, 20_000]);
    expect(waitAfterMs(1, 0)).toBe(2_500);
    expect(waitAfterMs(1_000_000, 1)).toBe(REFRESH_WAIT_MS_MAX);
  });
});
