import { expect, it } from 'vitest';
import { type ResourceUsage, usageProblems } from './resource-usage.ts';
import { runTornSockets } from './run-torn-sockets.ts';

/** Few, for every day; `npm run sim -- torn-sockets` tears thousands. */
const TORN = 40;

it('[CONN-2] a server whose callers hang up at any moment uses no more resources afterwards than before', async () => {
  const { torn, problems } = await runTornSockets({ store: 'embedded', seed: 1, isEnough: (count) => count >= TORN });
  expect(problems).toEqual([]);
  expect(torn).toBeGreaterThanOrEqual(TORN);
});

it('[CONN-2] the check reports every resource of which a server uses more afterwards than before', () => {
  const before: ResourceUsage = { requests: 0, bodyBytes: 0, streams: 0, files: 40, heapBytes: 1e7, rssBytes: 1e8 };
  const leaky: ResourceUsage = {
    requests: 1,
    bodyBytes: 70_000,
    streams: 1,
    files: 140,
    heapBytes: 1e9,
    rssBytes: 2e9,
  };
  expect(usageProblems(before, before)).toEqual([]);
  expect(usageProblems(before, leaky).map((problem) => problem.split(':')[0])).toEqual(Object.keys(leaky));
  expect(usageProblems(before, { ...before, files: Number.NaN })).toHaveLength(1);
});
