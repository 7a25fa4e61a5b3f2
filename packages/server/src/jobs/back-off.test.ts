import { seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { backOffMs, jitterFrom } from './back-off.ts';

const HALF_MINUTE = { baseMs: 1_000, capMs: 30_000 };

describe('back-off', () => {
  it('[JOB-29] the back-off is random between zero and a ceiling that doubles up to its cap', () => {
    const ceilings = [1, 2, 3, 4, 5, 6, 7, 1_000].map((attempt) => [
      backOffMs(attempt, HALF_MINUTE, () => 0),
      backOffMs(attempt, HALF_MINUTE, () => 1 - 2 ** -32),
    ]);
    expect(ceilings).toEqual([
      [0, 1_000],
      [0, 2_000],
      [0, 4_000],
      [0, 8_000],
      [0, 16_000],
      [0, 30_000],
      [0, 30_000],
      [0, 30_000],
    ]);
    expect(backOffMs(3, HALF_MINUTE, () => 0.5)).toBe(2_000);
  });

  it('[JOB-29] jobs that failed together are retried at different times', () => {
    const jitter = jitterFrom(seededRandom(1));
    const waits = Array.from({ length: 1_000 }, () => backOffMs(4, HALF_MINUTE, jitter));
    for (const quarter of [0, 1, 2, 3]) {
      const here = waits.filter((wait) => Math.floor(wait / 2_001) === quarter);
      expect(here.length).toBeGreaterThan(200);
    }
  });

  it('the jitter is a fraction below 1', () => {
    expect(jitterFrom({ bytes: (count) => new Uint8Array(count).fill(255) })()).toBe(1 - 2 ** -32);
    expect(jitterFrom({ bytes: (count) => new Uint8Array(count) })()).toBe(0);
  });
});
