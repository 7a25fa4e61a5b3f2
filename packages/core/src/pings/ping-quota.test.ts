import { Refusal } from '@tidemark/protocol';
import { settableClock } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { PingQuota } from './ping-quota.ts';

/** How many of so many pings are let through. */
function taken(quota: PingQuota, caller: string, pings: number): number {
  return Array.from({ length: pings }, () => waitOf(quota, caller)).filter((wait) => wait === null).length;
}

/** How long the caller is told to wait, in seconds; null when the ping was let through. */
function waitOf(quota: PingQuota, caller: string): number | null {
  try {
    quota.take(caller);
    return null;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'rate_limited') return error.retryAfterS;
    throw error;
  }
}

describe('the quota of pings', () => {
  it('[PING-8] the pings of a minute may be sent at once, and the next one is refused with a time to retry', () => {
    const clock = settableClock();
    const quota = new PingQuota(clock, 10);
    expect(taken(quota, 'ada', 10)).toBe(10);
    expect(waitOf(quota, 'ada')).toBe(6);
    clock.advance(2_500);
    expect(waitOf(quota, 'ada')).toBe(4);
    clock.advance(3_500);
    expect(waitOf(quota, 'ada')).toBeNull();
    expect(waitOf(quota, 'ada')).toBe(6);
    clock.advance(3_600_000);
    expect(taken(quota, 'ada', 100)).toBe(10);
  });

  it('[MANY-22] pings that other servers let through count, and an excess let through at once does not delay later pings', () => {
    const clock = settableClock();
    const quota = new PingQuota(clock, 10);
    for (let count = 0; count < 7; count++) quota.note('ada');
    expect(taken(quota, 'ada', 5)).toBe(3);
    for (let count = 0; count < 7; count++) quota.note('ada');
    clock.advance(6_000);
    expect(taken(quota, 'ada', 5)).toBe(1);
  });

  it('[PING-8] every caller has a quota of their own', () => {
    const quota = new PingQuota(settableClock(), 3);
    expect(taken(quota, 'ada', 5)).toBe(3);
    expect(taken(quota, 'bob', 5)).toBe(3);
  });

  it('[PING-8] a clock that is set back does not change the quota', () => {
    const clock = settableClock();
    const quota = new PingQuota(clock, 3);
    expect(taken(quota, 'ada', 2)).toBe(2);
    clock.advance(-3_600_000);
    expect(taken(quota, 'ada', 5)).toBe(1);
  });

  it('[PING-8] beyond PING_CALLERS_MAX, the least recently seen caller is evicted', () => {
    const quota = new PingQuota(settableClock(), 1, 2);
    for (const caller of ['ada', 'bob', 'ada']) waitOf(quota, caller);
    expect(waitOf(quota, 'ada')).not.toBeNull();
    waitOf(quota, 'carl');
    expect(waitOf(quota, 'ada')).not.toBeNull();
    expect(waitOf(quota, 'bob')).toBeNull();
  });
});
