import { settableClock } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { PaceGate } from './pace-gate.ts';
import { bothGates, type QueueGate } from './queue-gate.ts';

/** What it says to so many who ask, one after the other. */
const takes = (gate: QueueGate, count = 1) =>
  Array.from({ length: count }, () => {
    const place = gate.take();
    return typeof place === 'number' ? place : 'place';
  });

it('[JOB-38] so many begin at once as may, then one whenever its time has come', () => {
  const clock = settableClock();
  const gate = new PaceGate({ clock, perSecond: 4, burst: 2 });
  expect(takes(gate, 3)).toEqual(['place', 'place', 250]);
  clock.advance(200);
  expect(takes(gate)).toEqual([50]);
  clock.advance(50);
  expect(takes(gate, 2)).toEqual(['place', 250]);
  clock.advance(60_000);
  expect(takes(gate, 3)).toEqual(['place', 'place', 250]);
});

it('[JOB-36] behind two gates, a place at one is given back when the other is closed', () => {
  const clock = settableClock();
  const [wide, narrow] = [2, 1].map((burst) => new PaceGate({ clock, perSecond: 1, burst })) as [PaceGate, PaceGate];
  const both = bothGates(wide, narrow);
  const place = both.take();
  expect(takes(both)).toEqual([1_000]);
  expect(takes(wide)).toEqual(['place']);
  expect(takes(both)).toEqual([1_000]);
  if (typeof place !== 'number') place.giveBack();
  expect(takes(both)).toEqual(['place']);
});

it('[JOB-36] behind two gates, both hear of the end of a job', () => {
  const heard: string[] = [];
  const listening = (name: string): QueueGate => ({
    take: () => ({ giveBack: () => heard.push(`${name} back`), end: () => heard.push(`${name} end`) }),
  });
  const place = bothGates(listening('first'), listening('second')).take();
  if (typeof place !== 'number') place.end();
  expect(heard).toEqual(['first end', 'second end']);
});
