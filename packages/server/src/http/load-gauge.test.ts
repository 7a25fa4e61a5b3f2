import { describe, expect, it, onTestFinished } from 'vitest';
import { type Load, memoryBytes, openLoadGauge, overloadOf, ownResidentBytes, rssBytesMaxOf } from './load-gauge.ts';

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

/** Keeps the process alive, which the timer of the gauge does not. */
function keepAlive(): void {
  const alive = setInterval(() => undefined, 1_000);
  onTestFinished(() => clearInterval(alive));
}

/** Asks the gauge after each reading of the given loads. */
function gaugeDuring(loads: readonly Load[]): Promise<readonly (string | null)[]> {
  keepAlive();
  const seen: (string | null)[] = [];
  return new Promise((resolve) => {
    const meter = {
      read: () => {
        const load = loads[seen.length];
        if (load === undefined) resolve(seen);
        else queueMicrotask(() => seen.push(gauge.overload()));
        return load ?? calm;
      },
      pause: () => undefined,
    };
    const gauge = openLoadGauge(bounds, { meter, everyMs: 1 });
    onTestFinished(gauge.stop);
    gauge.overload();
  });
}

describe('the gauge', () => {
  it('[HARD-69] the gauge follows the load in both directions', async () => {
    const heap = 'the server is running out of memory';
    expect(await gaugeDuring([calm, { ...calm, heapPercent: 95 }, calm])).toEqual([null, heap, null]);
  });

  it('[HARD-69] a single long pause is no overload', async () => {
    const late = { ...calm, eventLoopDelayMs: 5_000 };
    const words = 'the server is overloaded';
    expect(await gaugeDuring([late, calm, late, late, late, calm])).toEqual([null, null, null, words, words, null]);
  });

  it('[HARD-69] a gauge that nobody asks measures nothing, and the next request finds the load of its moment', async () => {
    keepAlive();
    let load = calm;
    const pauses: (() => void)[] = [];
    const meter = { read: () => load, pause: () => pauses.shift()?.() };
    const gauge = openLoadGauge(bounds, { meter, everyMs: 1, restAfterMs: 2 });
    onTestFinished(gauge.stop);
    for (const heapPercent of [91, 90, 91]) {
      load = { ...calm, heapPercent };
      const rests = new Promise<void>((resolve) => pauses.push(resolve));
      expect(gauge.overload()).toBe(heapPercent > 90 ? 'the server is running out of memory' : null);
      await rests;
    }
  });
});

const GIB = 2 ** 30;

describe('the memory a server may use', () => {
  it('[HARD-70] the memory bound is the configured one, else 80 per cent of the memory, shared by the workers', () => {
    expect(rssBytesMaxOf(GIB, 4, 100 * GIB)).toBe(GIB);
    expect(rssBytesMaxOf(0, 1, 10 * GIB)).toBe(8 * GIB);
    expect(rssBytesMaxOf(0, 4, 10 * GIB)).toBe(2 * GIB);
  });

  it('[HARD-70] the memory is that of the container if it has a limit, else that of the machine', () => {
    expect(memoryBytes(GIB, 8 * GIB)).toBe(GIB);
    for (const unlimited of [0, 2 ** 63, 2 ** 64]) expect(memoryBytes(unlimited, 8 * GIB)).toBe(8 * GIB);
    expect(memoryBytes()).toBeGreaterThan(0);
  });

  it('[HARD-70] file pages, which the system can reclaim, do not count as used memory', () => {
    const status = () => 'VmRSS:\t  900000 kB\nRssAnon:\t  100000 kB\nRssFile:\t  800000 kB\n';
    expect(ownResidentBytes(900_000 * 1_024, status)).toBe(100_000 * 1_024);
    expect(ownResidentBytes(123, () => '')).toBe(123);
    const own = ownResidentBytes(process.memoryUsage().rss);
    expect(own).toBeGreaterThan(1_000_000);
    expect(own).toBeLessThanOrEqual(process.memoryUsage().rss * 2);
  });
});
