import { settableClock } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { type CallPermit, CircuitBreaker } from './circuit-breaker.ts';

function bench() {
  const clock = settableClock();
  // The dice always fall on the highest, so a rest is as long as it can be.
  const breaker = new CircuitBreaker({ clock, dice: () => 1, failuresMax: 3, restMs: 1_000, restMsMax: 4_000 });
  const pass = (ms: number) => clock.set(clock.nowMs() + ms);
  const failTimes = (count: number) => {
    const { leave } = breaker;
    for (let index = 0; index < count; index++) leave.fail(null);
  };
  return { breaker, pass, failTimes, asks: (count = 1) => Array.from({ length: count }, () => answerOf(breaker)) };
}

function answerOf(breaker: CircuitBreaker): number | 'leave' {
  const leave = breaker.ask();
  return typeof leave === 'number' ? leave : 'leave';
}

/** What the one gets who is let through. */
function leaveOf(breaker: CircuitBreaker): CallPermit {
  const leave = breaker.ask();
  if (typeof leave === 'number') throw new Error(`to wait ${leave} ms`);
  return leave;
}

describe('the circuit breaker', () => {
  it('[PING-30] lets calls through until so many have failed in a row', () => {
    const { breaker, failTimes, asks } = bench();
    failTimes(2);
    breaker.leave.succeed();
    failTimes(2);
    expect([breaker.isOpen, ...asks()]).toEqual([false, 'leave']);
    failTimes(1);
    expect([breaker.isOpen, ...asks()]).toEqual([true, 1_000]);
  });

  it('[PING-30] after a rest one may try; the others look again, and what becomes of it decides', () => {
    const { breaker, pass, failTimes, asks } = bench();
    failTimes(3);
    pass(1_000);
    expect(asks(3)).toEqual(['leave', 200, 200]);
    breaker.leave.fail(null);
    expect(asks()).toEqual([2_000]);
    pass(2_000);
    leaveOf(breaker).succeed();
    expect([breaker.isOpen, ...asks(2)]).toEqual([false, 'leave', 'leave']);
  });

  it('[PING-30] calls that were under way when it opened change nothing, also while one tries and afterwards', () => {
    const { breaker, pass, failTimes, asks } = bench();
    const before = leaveOf(breaker);
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
    expect(asks(2)).toEqual(['leave', 200]);
    isUntouched();
    expect(asks()).toEqual([200]);
    breaker.leave.succeed();
    isUntouched();
    expect(breaker.view).toEqual({ state: 'closed', failures: 0, untilMs: null });
  });

  it('[PING-30] rests double up to a maximum', () => {
    const { breaker, pass, failTimes, asks } = bench();
    failTimes(3);
    const rests = [1, 2, 3, 4].map(() => {
      const [restMs] = asks();
      pass(Number(restMs));
      leaveOf(breaker).fail(null);
      return restMs;
    });
    expect(rests).toEqual([1_000, 2_000, 4_000, 4_000]);
  });

  it('[PING-30] a service that asks to be left alone is, from its first word on', () => {
    const { breaker, pass, asks } = bench();
    const calls = leaveOf(breaker);
    calls.fail(30_000);
    expect(asks()).toEqual([30_000]);
    calls.fail(45_000);
    expect(asks()).toEqual([45_000]);
    pass(45_000);
    expect(asks()).toEqual(['leave']);
  });

  it('[PING-30] who may try and has nothing to send leaves it to the next, once', () => {
    const { breaker, pass, failTimes, asks } = bench();
    failTimes(3);
    pass(1_000);
    const first = leaveOf(breaker);
    first.giveBack();
    expect(asks(2)).toEqual(['leave', 200]);
    first.giveBack();
    expect(asks()).toEqual([200]);
    breaker.leave.giveBack();
    expect(asks()).toEqual(['leave']);
  });

  it('[PING-30] who never comes back is not waited for, and is believed when it comes back after all', () => {
    const { breaker, pass, failTimes, asks } = bench();
    failTimes(3);
    pass(1_000);
    const slow = leaveOf(breaker);
    pass(29_999);
    expect(asks()).toEqual([200]);
    pass(1);
    expect(asks(2)).toEqual(['leave', 200]);
    slow.succeed();
    expect([breaker.isOpen, ...asks(2)]).toEqual([false, 'leave', 'leave']);
  });

  it('[BACK-12] where asking is not enough, it takes as many failures as ever, and then the time that was asked for', () => {
    const clock = settableClock();
    const heard: string[] = [];
    const onChange = (state: string) => heard.push(state);
    const breaker = new CircuitBreaker({ clock, dice: () => 1, failuresMax: 2, isAskingEnough: false, onChange });
    leaveOf(breaker).fail(30_000);
    expect(breaker.view).toEqual({ state: 'closed', failures: 1, untilMs: null });
    leaveOf(breaker).fail(30_000);
    expect(breaker.view).toEqual({ state: 'open', failures: 2, untilMs: clock.nowMs() + 30_000 });
    clock.advance(30_000);
    const probe = leaveOf(breaker);
    expect(breaker.view.state).toBe('trying');
    probe.fail(null);
    clock.advance(60_000);
    leaveOf(breaker).succeed();
    expect([breaker.view, heard]).toEqual([{ state: 'closed', failures: 0, untilMs: null }, ['open', 'closed']]);
  });
});
