import { expect, it } from 'vitest';
import type { PlantName } from './plants.ts';
import { ROUNDS_MAX, runTestChaos } from './run-test-chaos.ts';

/** What a run says about each planted bug. The others need a store with a network, and are planted by hand. */
const FOUND: Readonly<Partial<Record<PlantName, RegExp>>> = {
  'token-before-delivery': /^the receipt of .* counts \d devices, but only \d hold it/,
  'revoked-group': /was written after \w+ had left the group/,
};

it('[CHAOS-1] on the valkey store, a round of faults breaks no promise, and everything converges', async () => {
  const { problems, pushes, reads, uploads } = await runTestChaos({ engine: 'valkey', plant: null, servers: 2 }, 1);
  expect(problems).toEqual([]);
  expect(Math.min(pushes.acknowledged, reads, uploads.made)).toBeGreaterThan(0);
});

it.each(Object.entries(FOUND))('[CHAOS-3] chaos finds the planted bug %s', async (plant, message) => {
  const { problems } = await runTestChaos({ engine: 'embedded', plant: plant as PlantName, servers: 1 }, ROUNDS_MAX);
  expect(problems.join('\n')).toMatch(message);
});
