import { describe, expect, it } from 'vitest';
import { drawHistory } from './draw-history.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { runHistory } from './run-history.ts';
import { VirtualStage } from './virtual-stage.ts';

const HISTORIES = 6;
const HISTORIES_TO_FIND_A_BUG = 10;
const STEPS_MAX = 60;

describe('devices in one process, in virtual time', () => {
  it('[SDK-12] on a bad network all converge, and each upload is applied exactly once', async () => {
    let held = 0;
    for (; held < HISTORIES; held++) await runHistory(drawHistory(held + 1, STEPS_MAX), VirtualStage.with());
    expect(held).toBe(HISTORIES);
  });

  for (const { name, plant } of PLANTED_BUGS) {
    it(`[SDK-12] the simulation notices when ${name}`, async () => {
      const run = async () => {
        for (let seed = 1; seed <= HISTORIES_TO_FIND_A_BUG; seed++) {
          await runHistory(drawHistory(seed, STEPS_MAX), VirtualStage.with(plant()));
        }
      };
      await expect(run()).rejects.toThrow(/^seed \d+, step/);
    });
  }
});
