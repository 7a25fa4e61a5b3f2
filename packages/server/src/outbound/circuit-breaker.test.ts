import { settableClock } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { type CallPermit, CircuitBreaker } from './circuit-breaker.ts';

function bench() {
  const clock = settableClock();
  // The jitter is the maximum, so that every pause has its full length.
  const breaker = new CircuitBreaker({ clock, jitter: () => 1, failuresMax: 3, pauseMs: 1_000, pauseMsMax: 4_000 });
  const pass = (ms: number) => clock.set(clock.nowMs() + ms);
  const failTimes = (count: number) => {
    const { permit } = breaker;
    for (let index = 0; index < count; index++) permit.fail(null);
  };
  return { breaker, pass, failTimes, asks: (count = 1) => Array.from({ length: count }, () => answerOf(breaker)) };
}

function answerOf(breaker: CircuitBreaker): number | 'permit' {
  const permit = breaker.acquire();
  return typeof permit === 'number' ? permit : 'permit';
}

/** Takes a permit, which must be available. */
function permitOf(breaker: CircuitBreaker): CallPermit {
  const permit = breaker.acquire();
  if (typeof permit === 'number') throw new Error(`to wait ${permit} ms`);
  return permit;
}

describe('the circuit breaker', () => {
  it('[PING-30] the breaker admits calls until the limit of consecutive failures', () => {
    const { breaker, failTimes, asks } = bench();
    failTimes(2);
    breaker.permit.succeed();
    failTimes(2);
    expect([breaker.isOpen, ...asks()]).toEqual([false, 'permit']);
    failTimes(1);
    expect([breaker.isOpen, ...asks()]).toEqual([true, 1_000]);
  });

  it('[PING-30] after the pause one call probes, the others check again, and the result decides', () => {
    const { breaker, pass, failTimes, asks } = bench();
    failTimes(3);
    pass(1_000);
    expect(asks(3)).toEqual(['permit', 200, 200]);
    breaker.permit.fail(null);
    expect(asks()).toEqual([2_000]);
    pass(2_000);
    permitOf(breaker).succeed();
    expect([breaker.isOpen, ...asks(2)]).toEqual([false, 'permit', 'permit']);
  });

  it('[PING-30] results of calls that began before the breaker opened are ignored, also during and after the probe', () => {
    const { breaker, pass, failTimes, asks } = bench();
    const before = permitOf(breaker);
    failTimes(100);
    expect(asks()).toEqual([1_000]);
    const isUntouched = () => {
      const { view } = breaker;
      before.succeed();
      before.fail(null);
      before.giveBack();
      expect(breaker.view).toEqual(view);
    };
    isUntouched();
    pass(1_000);
    expect(asks(2)).toEqual(['permit', 200]);
    isUntouched();
    expect(asks()).toEqual([200]);
    breaker.permit.succeed();
    isUntouched();
    expect(breaker.view).toEqual({ state: 'closed', failures: 0, untilMs: null });
  });

  it('[PING-30] pauses double up to a maximum', () => {
    const { breaker, pass, failTimes, asks } = bench();
    failTimes(3);
    const rests = [1, 2, 3, 4].map(() => {
      const [pauseMs] = asks();
      pass(Number(pauseMs));
      permitOf(breaker).fail(null);
      return pauseMs;
    });
    expect(rests).toEqual([1_000, 2_000, 4_000, 4_000]);
  });

  it('[PING-30] a service that sends Retry-After is paused after its first failure', () => {
    const { breaker, pass, asks } = bench();
    const calls = permitOf(breaker);
    calls.fail(30_000);
    expect(asks()).toEqual([30_000]);
    calls.fail(45_000);
    expect(asks()).toEqual([45_000]);
    pass(45_000);
    expect(asks()).toEqual(['permit']);
  });

  it('[PING-30] a probe without a call gives its permit back once, and the next call probes', () => {
    const { breaker, pass, failTimes, asks } = bench();
    failTimes(3);
    pass(1_000);
    const first = permitOf(breaker);
    first.giveBack();
    expect(asks(2)).toEqual(['permit', 200]);
    first.giveBack();
    expect(asks()).toEqual([200]);
    breaker.permit.giveBack();
    expect(asks()).toEqual(['permit']);
  });

  it('[PING-30] a probe that never ends is given up, and its late result still counts', () => {
    const { breaker, pass, failTimes, asks } = bench();
    failTimes(3);
    pass(1_000);
    const slow = permitOf(breaker);
    pass(29_999);
    expect(asks()).toEqual([200]);
    pass(1);
    expect(asks(2)).toEqual(['permit', 200]);
    slow.succeed();
    expect([breaker.isOpen, ...asks(2)]).toEqual([false, 'permit', 'permit']);
  });

  it('[BACK-12] where Retry-After alone does not open the breaker, it takes all failures, and then the time asked for', () => {
    const clock = settableClock();
    const heard: string[] = [];
    const onChange = (state: string) => heard.push(state);
    const breaker = new CircuitBreaker({ clock, jitter: () => 1, failuresMax: 2, opensOnRetryAfter: false, onChange });
    permitOf(breaker).fail(30_000);
    expect(breaker.view).toEqual({ state: 'closed', failures: 1, untilMs: null });
    permitOf(breaker).fail(30_000);
    expect(breaker.view).toEqual({ state: 'open', failures: 2, untilMs: clock.nowMs() + 30_000 });
    clock.advance(30_000);
    const probe = permitOf(breaker);
    expect(breaker.view.state).toBe('trying');
    probe.fail(null);
    clock.advance(60_000);
    permitOf(breaker).succeed();
    expect([breaker.view, heard]).toEqual([{ state: 'closed', failures: 0, untilMs: null }, ['open', 'closed']]);
  });
});
