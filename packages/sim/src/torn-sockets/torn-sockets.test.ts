import { expect, it } from 'vitest';
import { type Holdings, holdingProblems } from './holdings.ts';
import { runTornSockets } from './run-torn-sockets.ts';

const TORN = 300;

it('[CONN-2] a server whose callers hang up at any moment holds as much afterwards as before', async () => {
  const { torn, problems } = await runTornSockets({ store: 'embedded', seed: 1, isEnough: (count) => count >= TORN });
  expect(problems).toEqual([]);
  expect(torn).toBeGreaterThanOrEqual(TORN);
});

it('[CONN-2] a server that holds more afterwards than before is told apart', () => {
  const before: Holdings = { requests: 0, bodyBytes: 0, streams: 0, files: 40, heapBytes: 1e7, rssBytes: 1e8 };
  const leaky: Holdings = { requests: 1, bodyBytes: 70_000, streams: 1, files: 140, heapBytes: 1e9, rssBytes: 2e9 };
  expect(holdingProblems(before, before)).toEqual([]);
  expect(holdingProblems(before, leaky).map((problem) => problem.split(':')[0])).toEqual(Object.keys(leaky));
  expect(holdingProblems(before, { ...before, files: Number.NaN })).toHaveLength(1);
});
