import { settableClock } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { PaceGate } from './pace-gate.ts';
import { bothOf } from './queue-gate.ts';

it('[JOB-38] so many begin at once as may, then one whenever its time has come', () => {
  const clock = settableClock();
  const gate = new PaceGate({ clock, perSecond: 4, burst: 2 });
  expect([gate.take(), gate.take(), gate.take()]).toEqual([0, 0, 250]);
  clock.advance(200);
  expect(gate.take()).toBe(50);
  clock.advance(50);
  expect([gate.take(), gate.take()]).toEqual([0, 250]);
  clock.advance(60_000);
  expect([gate.take(), gate.take(), gate.take()]).toEqual([0, 0, 250]);
});

it('[JOB-36] behind two gates, a place at one is given back when the other is closed', () => {
  const clock = settableClock();
  const [wide, narrow] = [2, 1].map((burst) => new PaceGate({ clock, perSecond: 1, burst })) as [PaceGate, PaceGate];
  const both = bothOf(wide, narrow);
  expect([both.take(), both.take()]).toEqual([0, 1_000]);
  expect(wide.take()).toBe(0);
  expect(both.take()).toBe(1_000);
  both.giveBack();
  expect(both.take()).toBe(0);
});
