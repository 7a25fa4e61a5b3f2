import { temporaryFolder } from '@tidemark/testing/kit';
import { expect, it, onTestFinished } from 'vitest';
import { runChaos } from '../chaos/run-chaos.ts';

/** Short, for every day; `npm run sim -- servers` runs longer. */
const ROUND_MS = 1_000;
/** Tried until a server was killed, which a busy machine may not come to in a round. */
const ROUNDS_MAX = 5;

it('[MANY-19] servers killed under load lose no acknowledged write, all devices converge, and a partition has one query at a time', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  let kills = 0;
  const { problems, pushes, uploads, queries } = await runChaos({
    ...{ seed: 4, engine: 'embedded', servers: 2, plant: null, folder: folder.path },
    ...{ faults: ['kill_server'], isCalm: true, roundMs: ROUND_MS },
    isEnough: (rounds) => kills > 0 || rounds >= ROUNDS_MAX,
    onRound: ({ faults }) => {
      kills = faults.kill_server ?? 0;
    },
  });
  expect(problems).toEqual([]);
  expect(Math.min(kills, pushes.acknowledged, uploads.made, queries)).toBeGreaterThan(0);
});
