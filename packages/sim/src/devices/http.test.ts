import { describe, expect, it } from 'vitest';
import { drawHistory } from './draw-history.ts';
import { HttpEnvironment } from './http-environment.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { runHistory } from './run-history.ts';

/** Few and short, for every day; `npm run sim -- http` runs more. */
const SEEDS = [11];
const STEPS_MAX = 24;

describe.concurrent('devices over HTTP, through a proxy that cuts, delays and doubles requests', () => {
  for (const seed of SEEDS) {
    it(`[SDK-12] all devices converge though they and the server are killed, and each upload is applied exactly once (seed ${seed})`, async () => {
      expect(await runHistory(drawHistory(seed, STEPS_MAX), HttpEnvironment.with())).toBeNull();
    });
  }

  const bug = PLANTED_BUGS.find(({ name }) => name.startsWith('a value'));
  it(`[SDK-12] the simulation over HTTP notices that ${bug?.name}`, async () => {
    const failure = await runHistory(drawHistory(1, STEPS_MAX), HttpEnvironment.with(bug?.plant()));
    expect(failure?.message).toMatch(/^seed 1, step/);
  });
});
