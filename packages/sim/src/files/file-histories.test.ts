import { expect, it } from 'vitest';
import { failedSeedsOf } from '../runner/failed-seeds.ts';
import { runCampaign, seedsFrom } from '../runner/simulation.ts';
import { drawHistory } from './draw-history.ts';
import { fileSimulation } from './simulate.ts';

/** `npm run test:long` runs thousands of histories where `npm test` runs tens. */
const HISTORIES = process.env.TIDEMARK_LONG_TESTS === '1' ? 3_000 : 12;
/** Ends a test that hangs. Histories take as long as the machine needs. */
const TIMEOUT_MS = 3_600_000;

it(`[FILESIM-1] [FILESIM-2] [FILESIM-3] [FILESIM-4] [FILESIM-5] histories of files that once failed, and ${HISTORIES} random ones, pass`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const seeds = new Set([...(await failedSeedsOf(fileSimulation.name)), ...seedsFrom(1, HISTORIES)]);
  const result = await runCampaign(fileSimulation, { seeds });
  if (result.failure !== null) throw result.failure;
  expect(result.histories).toBe(seeds.size);
});

it('[FILESIM-6] a seed always gives the same history of files', () => {
  expect(drawHistory(7)).toEqual(drawHistory(7));
});
