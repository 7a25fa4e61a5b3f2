import { describe, expect, it } from 'vitest';
import { ROUNDS_MAX, runTestChaos } from './run-test-chaos.ts';

// chaos.long.test.ts has the other stores and the other planted bugs.
describe('servers, store, network, clocks, backend and devices under faults', () => {
  it('[CHAOS-1] on the embedded store, a round of faults breaks no promise, and everything converges', async () => {
    const { problems, pushes, reads, uploads } = await runTestChaos({ engine: 'embedded', plant: null, servers: 2 }, 1);
    expect(problems).toEqual([]);
    expect(Math.min(pushes.acknowledged, reads, uploads.made)).toBeGreaterThan(0);
  });

  it('[CHAOS-3] chaos finds the planted bug ack-before-commit', async () => {
    const plan = { engine: 'embedded', plant: 'ack-before-commit', servers: 1 } as const;
    const { problems } = await runTestChaos(plan, ROUNDS_MAX);
    expect(problems.join('\n')).toMatch(
      /an acknowledged write was lost or seen late|shows \d+ of .* after it has shown/,
    );
  });
});
