import { describe, expect, it } from 'vitest';
import { runCampaign, seedsFrom } from './campaign.ts';
import { readKeptSeeds } from './kept-seeds.ts';

const TIMEOUT_MS = 300_000;

describe.each([
  ['valkey', 150],
  ['valkey-cluster', 75],
] as const)('on %s', (engine, histories) => {
  it('[SIM-12] the histories that once found something hold', { timeout: TIMEOUT_MS }, async () => {
    const kept = (await readKeptSeeds()).filter((seed) => seed.engine === engine).map(({ seed }) => seed);
    const result = await runCampaign({ engine, seeds: kept });
    if (result.failure !== null) throw result.failure;
    expect(result.histories).toBe(kept.length);
  });

  it('[SIM-1] [SIM-2] [SIM-3] [SIM-4] [SIM-5] [SIM-6] [SIM-7] [SIM-8] [SIM-9] random histories hold', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const result = await runCampaign({ engine, seeds: seedsFrom(1, histories) });
    if (result.failure !== null) throw result.failure;
    expect(result.histories).toBe(histories);
  });
});
