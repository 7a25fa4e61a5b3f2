import { expect, it } from 'vitest';
import { runCampaign, seedsFrom } from './campaign.ts';
import { readKeptSeeds } from './kept-seeds.ts';

const HISTORIES = 2_000;
const TIMEOUT_MS = 300_000;

it('[SIM-12] the histories that once found something hold on the memory engine', { timeout: TIMEOUT_MS }, async () => {
  const kept = (await readKeptSeeds()).filter(({ engine }) => engine === 'memory').map(({ seed }) => seed);
  const result = await runCampaign({ engine: 'memory', seeds: kept });
  if (result.failure !== null) throw result.failure;
  expect(result.histories).toBe(kept.length);
});

it('[SIM-1] [SIM-2] [SIM-3] [SIM-4] [SIM-5] [SIM-6] [SIM-7] [SIM-8] [SIM-9] random histories hold on the memory engine', {
  timeout: TIMEOUT_MS,
}, async () => {
  const result = await runCampaign({ engine: 'memory', seeds: seedsFrom(1, HISTORIES) });
  if (result.failure !== null) throw result.failure;
  expect(result.histories).toBe(HISTORIES);
});
