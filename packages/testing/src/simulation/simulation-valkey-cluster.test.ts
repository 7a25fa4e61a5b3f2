import { expect, it } from 'vitest';
import { runCampaign, seedsFrom } from './campaign.ts';
import { readKeptSeeds } from './kept-seeds.ts';

const HISTORIES = 2_000;
const TIMEOUT_MS = 600_000;

it('[SIM-12] [SIM-1] [SIM-2] [SIM-3] [SIM-4] [SIM-5] [SIM-6] [SIM-7] [SIM-8] [SIM-9] histories that once found something, and random ones, hold on a Valkey cluster', {
  timeout: TIMEOUT_MS,
}, async () => {
  const kept = (await readKeptSeeds()).filter(({ engine }) => engine === 'valkey-cluster').map(({ seed }) => seed);
  const seeds = [...kept, ...seedsFrom(10_001, HISTORIES)];
  const result = await runCampaign({ engine: 'valkey-cluster', seeds });
  if (result.failure !== null) throw result.failure;
  expect(result.histories).toBe(seeds.length);
});
