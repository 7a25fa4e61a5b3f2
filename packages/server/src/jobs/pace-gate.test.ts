import { settableClock } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { PaceGate } from './pace-gate.ts';
import { bothGates, type QueueGate } from './queue-gate.ts';

/** Returns the results of consecutive requests for a permit. */
const takes = (gate: QueueGate, count = 1) =>
  Array.from({ length: count }, () => {
    const permit = gate.take();
    return typeof permit === 'number' ? permit : 'permit';
  });

it('[JOB-38] a burst of jobs may start at once, then one at each interval', () => {
  const clock = settableClock();
  const gate = new PaceGate({ clock, perSecond: 4, burst: 2 });
  expect(takes(gate, 3)).toEqual(['permit', 'permit', 250]);
  clock.advance(200);
  expect(takes(gate)).toEqual([50]);
  clock.advance(50);
  expect(takes(gate, 2)).toEqual(['permit', 250]);
  clock.advance(60_000);
  expect(takes(gate, 3)).toEqual(['permit', 'permit', 250]);
});

it('[JOB-36] behind two gates, a permit of one is given back if the other is closed', () => {
  const clock = settableClock();
  const [wide, narrow] = [2, 1].map((burst) => new PaceGate({ clock, perSecond: 1, burst })) as [PaceGate, PaceGate];
  const both = bothGates(wide, narrow);
  const permit = both.take();
  expect(takes(both)).toEqual([1_000]);
  expect(takes(wide)).toEqual(['permit']);
  expect(takes(both)).toEqual([1_000]);
  if (typeof permit !== 'number') permit.giveBack();
  expect(takes(both)).toEqual(['permit']);
});

it('[JOB-36] behind two gates, both learn of the end of a job', () => {
  const heard: string[] = [];
  const listening = (name: string): QueueGate => ({
    take: () => ({ giveBack: () => heard.push(`${name} back`), end: () => heard.push(`${name} end`) }),
  });
  const permit = bothGates(listening('first'), listening('second')).take();
  if (typeof permit !== 'number') permit.end();
  expect(heard).toEqual(['first end', 'second end']);
});
