import { expect, it } from 'vitest';
import { failedSeedsOf } from '../runner/failed-seeds.ts';
import { runCampaign, seedsFrom } from '../runner/simulation.ts';
import { drawHistory } from './draw-history.ts';
import { sdkSimulation } from './simulate.ts';

/** `npm run test:long` runs thousands of histories where `npm test` runs dozens. */
const HISTORIES = process.env.TIDEMARK_LONG_TESTS === '1' ? 2_000 : 4;
/** Ends a test that hangs. Histories take as long as the machine needs. */
const TIMEOUT_MS = 3_600_000;

it('[SIM-18] [SIM-19] [SIM-20] [SIM-21] [SIM-22] [SIM-23] histories of SDK devices that once failed, and random ones, pass', {
  timeout: TIMEOUT_MS,
}, async () => {
  const seeds = new Set([...(await failedSeedsOf(sdkSimulation.name)), ...seedsFrom(1, HISTORIES)]);
  const { histories, failure } = await runCampaign(sdkSimulation, { seeds });
  if (failure !== null) throw failure;
  expect(histories).toBe(seeds.size);
});

it('[SIM-10] a seed always gives the same history of SDK devices', () => {
  expect(drawHistory(7)).toEqual(drawHistory(7));
});
