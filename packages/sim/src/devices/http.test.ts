import { describe, expect, it } from 'vitest';
import { drawHistory } from './draw-history.ts';
import { HttpStage } from './http-stage.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { runHistory } from './run-history.ts';

/** Few and short, for everyday; `npm run sim:http` runs as many as you like. */
const SEEDS = [11, 12];
const STEPS_MAX = 24;

describe.concurrent('devices over HTTP, through a proxy that cuts, delays and doubles', () => {
  for (const seed of SEEDS) {
    it(`[SDK-12] all converge though devices and server are killed, and each upload is applied exactly once (seed ${seed})`, async () => {
      await expect(runHistory(drawHistory(seed, STEPS_MAX), HttpStage.with())).resolves.toBeUndefined();
    });
  }

  const bug = PLANTED_BUGS.find(({ name }) => name.startsWith('a value'));
  it(`[SDK-12] the simulation notices when ${bug?.name}`, async () => {
    await expect(runHistory(drawHistory(1, STEPS_MAX), HttpStage.with(bug?.plant()))).rejects.toThrow(/^seed 1, step/);
  });
});
