import { describe, expect, it, onTestFinished } from 'vitest';
import { type Load, overloadOf, startLoadGauge } from './load-gauge.ts';

const bounds = { eventLoopDelayMsMax: 100, heapPercentMax: 90, rssBytesMax: 1_000 };
const calm: Load = { eventLoopDelayMs: 100, heapPercent: 90, rssBytes: 1_000 };

describe('load', () => {
  it.each([
    ['event loop', { eventLoopDelayMs: 100.1 }],
    ['heap', { heapPercent: 90.1 }],
    ['resident memory', { rssBytes: 1_001 }],
  ])('[HARD-69] the %s is too high above its bound, not at it', (_what, more) => {
    expect(overloadOf(calm, bounds)).toBeNull();
    expect(overloadOf({ ...calm, ...more }, bounds)).toMatch(/^the server /);
  });
});

/** The values of the gauge before each reading of the given loads, and after the last. */
function gaugeDuring(loads: readonly Load[]): Promise<readonly (string | null)[]> {
  const seen: (string | null)[] = [];
  return new Promise((resolve) => {
    const meter = {
      read: () => {
        const load = loads[seen.length];
        seen.push(gauge.overload);
        if (load === undefined) resolve(seen);
        return load ?? calm;
      },
      stop: () => undefined,
    };
    const gauge = startLoadGauge(bounds, { meter, everyMs: 1 });
    onTestFinished(gauge.stop);
    // Keeps the process alive, which the timer of the gauge does not.
    const alive = setInterval(() => undefined, 1_000);
    onTestFinished(() => clearInterval(alive));
  });
}

describe('the gauge', () => {
  it('[HARD-69] the gauge follows the load in both directions', async () => {
    const heap = 'the server is running out of memory';
    expect(await gaugeDuring([calm, { ...calm, heapPercent: 95 }, calm])).toEqual([null, null, heap, null]);
  });

  it('[HARD-69] a single long pause is no overload', async () => {
    const late = { ...calm, eventLoopDelayMs: 5_000 };
    const words = 'the server has more to do than it can keep up with';
    expect(await gaugeDuring([late, calm, late, late, late, calm])).toEqual([
      null,
      null,
      null,
      null,
      words,
      words,
      null,
    ]);
  });
});
