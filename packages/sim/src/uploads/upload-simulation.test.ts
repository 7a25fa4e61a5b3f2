import { expect, it } from 'vitest';
import { failedSeedsOf } from '../runner/failed-seeds.ts';
import { runCampaign, seedsFrom } from '../runner/simulation.ts';
import { drawHistory } from './draw-history.ts';
import { runHistory, uploadSimulation } from './simulate.ts';

/** `npm run test:long` runs thousands of histories where `npm test` runs hundreds. */
const HISTORIES = process.env.TIDEMARK_LONG_TESTS === '1' ? 5_000 : 25;
/** Ends a test that hangs. Histories take as long as the machine needs. */
const TIMEOUT_MS = 3_600_000;

it('[UPSIM-1] [UPSIM-2] [UPSIM-3] [UPSIM-4] [UPSIM-5] histories of uploads that once failed, and random ones, pass', {
  timeout: TIMEOUT_MS,
}, async () => {
  const failed = await failedSeedsOf(uploadSimulation.name);
  const seeds = new Set([...failed, ...seedsFrom(1, HISTORIES)]);
  const { histories, failure } = await runCampaign(uploadSimulation, { seeds });
  if (failure !== null) throw failure;
  expect(histories).toBe(seeds.size);
});

it('[UPSIM-6] a seed always gives the same history of uploads, which fails in the same way every time', async () => {
  expect(drawHistory(7)).toEqual(drawHistory(7));
  const plant = { pull: () => Promise.reject(new Error('planted')) };
  const pulls = (seed: number) => drawHistory(seed).steps.some(({ kind }) => kind === 'pull');
  const seed = [...seedsFrom(1, 50)].find(pulls) ?? 1;
  const first = await runHistory(drawHistory(seed), plant);
  const second = await runHistory(drawHistory(seed), plant);
  expect(first?.seed).toBe(seed);
  expect([second?.seed, second?.stepNumber]).toEqual([first?.seed, first?.stepNumber]);
  expect(first?.message).toContain(`npm run sim -- uploads --seed ${seed}`);
});
