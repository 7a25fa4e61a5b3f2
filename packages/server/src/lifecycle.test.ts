import { expect, it } from 'vitest';
import { type Part, startParts } from './lifecycle.ts';

function recordedParts() {
  const calls: string[] = [];
  const part = (name: string, failing: string | null = null): Part => {
    const step = (kind: string) => async () => {
      calls.push(`${kind} ${name}`);
      if (kind === failing) throw new Error(`${name} cannot ${kind}`);
    };
    return { name, start: step('start'), drain: step('drain'), stop: step('stop') };
  };
  return { calls, part };
}

it('parts start in order, and end in reverse order: all are drained before one is stopped', async () => {
  const { calls, part } = recordedParts();
  const end = await startParts([part('store'), part('http')]);
  await end();
  expect(calls).toEqual(['start store', 'start http', 'drain http', 'drain store', 'stop http', 'stop store']);
});

it('a part that cannot start ends the parts that are open, and only those', async () => {
  const { calls, part } = recordedParts();
  const open: Part = { name: 'backend', stop: () => void calls.push('stop backend') };
  const parts = [part('store'), part('http', 'start'), part('queues'), open];
  await expect(startParts(parts)).rejects.toThrow('http cannot start');
  expect(calls).toEqual(['start store', 'start http', 'drain store', 'stop backend', 'stop store']);
});

it('a part that cannot stop does not keep the others from stopping', async () => {
  const { calls, part } = recordedParts();
  const end = await startParts([part('store'), part('cluster', 'stop'), part('http', 'drain')]);
  await expect(end()).rejects.toThrow('http cannot drain');
  expect(calls.slice(-3)).toEqual(['stop http', 'stop cluster', 'stop store']);
});
