import { IS_LONG } from '@tidemark/testing/kit';
import { describe, expect, it } from 'vitest';
import { runCampaign, seedsFrom } from '../runner/simulation.ts';
import { drawHistory } from './draw-history.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { deviceSimulation, runHistory } from './run-history.ts';
import { VirtualEnvironment } from './virtual-environment.ts';

const HISTORIES = IS_LONG ? 6 : 3;
const HISTORIES_TO_FIND_A_BUG = 10;
const STEPS_MAX = 60;

describe('devices in one process, in virtual time', () => {
  it('[SDK-12] on a bad network all devices converge, and each upload is applied exactly once', async () => {
    const seeds = seedsFrom(1, HISTORIES);
    expect(await runCampaign(deviceSimulation('virtual', STEPS_MAX), { seeds })).toEqual({
      histories: HISTORIES,
      failure: null,
    });
  });

  it.each(PLANTED_BUGS)('[SDK-12] the simulation notices that $name', async ({ plant }) => {
    for (const seed of seedsFrom(1, HISTORIES_TO_FIND_A_BUG)) {
      const failure = await runHistory(drawHistory(seed, STEPS_MAX), VirtualEnvironment.with(plant()));
      if (failure !== null) return;
    }
    expect.fail('no history shows the bug');
  });
});
