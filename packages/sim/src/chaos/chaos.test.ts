import { temporaryFolder } from '@tidemark/testing/kit';
import { describe, expect, it } from 'vitest';
import type { PlantName } from './plants.ts';
import { type ChaosOptions, type ChaosReport, runChaos } from './run-chaos.ts';

/** Short, for every day; `npm run sim -- chaos` runs longer. */
const ROUND_MS = 4_000;
/** Tried when a planted bug does not show at once: which requests a fault hits depends on the speed of the machine. */
const ROUNDS_MAX = 20;

async function run(options: Pick<ChaosOptions, 'engine' | 'plant' | 'servers'>, rounds: number): Promise<ChaosReport> {
  const folder = await temporaryFolder();
  const isEnough = (done: number) => done >= rounds;
  try {
    return await runChaos({ ...options, seed: 1, folder: folder.path, roundMs: ROUND_MS, isEnough });
  } finally {
    await folder.remove();
  }
}

/** What a run says about each planted bug. The others need a store with a network, and are planted by hand. */
const FOUND: Readonly<Partial<Record<PlantName, RegExp>>> = {
  'ack-before-commit': /an acknowledged write was lost or seen late|shows \d+ of .* after it has shown/,
  'token-before-delivery': /^the receipt of .* counts \d devices, but only \d hold it/,
  'revoked-group': /was written after \w+ had left the group/,
};

describe('servers, store, network, clocks, backend and devices under faults', () => {
  it.each(['embedded', 'valkey'] as const)(
    '[CHAOS-1] on the %s store, a round of faults breaks no promise, and everything converges',
    async (engine) => {
      const { problems, pushes, reads, uploads } = await run({ engine, plant: null, servers: 2 }, 1);
      expect(problems).toEqual([]);
      expect(Math.min(pushes.acknowledged, reads, uploads.made)).toBeGreaterThan(0);
    },
  );

  it.each(Object.entries(FOUND))('[CHAOS-3] chaos finds the planted bug %s', async (plant, message) => {
    const { problems } = await run({ engine: 'embedded', plant: plant as PlantName, servers: 1 }, ROUNDS_MAX);
    expect(problems.join('\n')).toMatch(message);
  });
});
