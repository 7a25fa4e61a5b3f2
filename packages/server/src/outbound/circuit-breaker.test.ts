import { settableClock } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { CircuitBreaker } from './circuit-breaker.ts';

function bench() {
  const clock = settableClock();
  // The dice always fall on the highest, so a rest is as long as it can be.
  const breaker = new CircuitBreaker({ clock, dice: () => 1, failuresMax: 3, restMs: 1_000, restMsMax: 4_000 });
  const pass = (ms: number) => clock.set(clock.nowMs() + ms);
  const failTimes = (count: number) => {
    for (let index = 0; index < count; index++) breaker.fail(null);
  };
  return { breaker, pass, failTimes };
}

describe('the circuit breaker', () => {
  it('[PING-30] lets calls through until so many have failed in a row', () => {
    const { breaker, failTimes } = bench();
    failTimes(2);
    breaker.succeed();
    failTimes(2);
    expect([breaker.isOpen, breaker.waitMs()]).toEqual([false, 0]);
    failTimes(1);
    expect([breaker.isOpen, breaker.waitMs()]).toEqual([true, 1_000]);
  });

  it('[PING-30] after a rest one may try; the others look again, and what becomes of it decides', () => {
    const { breaker, pass, failTimes } = bench();
    failTimes(3);
    pass(1_000);
    expect([breaker.waitMs(), breaker.waitMs(), breaker.waitMs()]).toEqual([0, 200, 200]);
    breaker.fail(null);
    expect(breaker.waitMs()).toBe(2_000);
    pass(2_000);
    expect(breaker.waitMs()).toBe(0);
    breaker.succeed();
    expect([breaker.isOpen, breaker.waitMs(), breaker.waitMs()]).toEqual([false, 0, 0]);
  });

  it('[PING-30] calls that were under way when it opened change nothing', () => {
    const { breaker, failTimes } = bench();
    failTimes(100);
    expect(breaker.waitMs()).toBe(1_000);
    breaker.succeed();
    expect(breaker.waitMs()).toBe(1_000);
  });

  it('[PING-30] rests double up to a maximum', () => {
    const { breaker, pass, failTimes } = bench();
    failTimes(3);
    const rests = [1, 2, 3, 4].map(() => {
      const restMs = breaker.waitMs();
      pass(restMs);
      breaker.waitMs();
      breaker.fail(null);
      return restMs;
    });
    expect(rests).toEqual([1_000, 2_000, 4_000, 4_000]);
  });

  it('[PING-30] a service that asks to be left alone is, from its first word on', () => {
    const { breaker, pass } = bench();
    breaker.fail(30_000);
    expect(breaker.waitMs()).toBe(30_000);
    breaker.fail(45_000);
    expect(breaker.waitMs()).toBe(45_000);
    pass(45_000);
    expect(breaker.waitMs()).toBe(0);
  });

  it('[PING-30] who may try and has nothing to send leaves it to the next; who never comes back is not waited for', () => {
    const { breaker, pass, failTimes } = bench();
    failTimes(3);
    pass(1_000);
    expect(breaker.waitMs()).toBe(0);
    breaker.giveBack();
    expect(breaker.waitMs()).toBe(0);
    pass(30_000);
    expect(breaker.waitMs()).toBe(0);
  });

  it('[BACK-12] where asking is not enough, it takes as many failures as ever, and then the time that was asked for', () => {
    const clock = settableClock();
    const heard: string[] = [];
    const onChange = (state: string) => heard.push(state);
    const breaker = new CircuitBreaker({ clock, dice: () => 1, failuresMax: 2, isAskingEnough: false, onChange });
    breaker.fail(30_000);
    expect([breaker.waitMs(), breaker.view]).toEqual([0, { state: 'closed', failures: 1, untilMs: null }]);
    breaker.fail(30_000);
    expect(breaker.view).toEqual({ state: 'open', failures: 2, untilMs: clock.nowMs() + 30_000 });
    clock.advance(30_000);
    expect(breaker.waitMs()).toBe(0);
    expect(breaker.view.state).toBe('trying');
    breaker.fail(null);
    clock.advance(60_000);
    breaker.waitMs();
    breaker.succeed();
    expect([breaker.view, heard]).toEqual([{ state: 'closed', failures: 0, untilMs: null }, ['open', 'closed']]);
  });
});
