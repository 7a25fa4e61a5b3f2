import { describe, expect, it } from 'vitest';
import { memoryBytes, ownResidentBytes, rssBytesMaxOf } from './memory-bound.ts';

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
