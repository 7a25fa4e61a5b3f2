import { describe, expect, it } from 'vitest';
import { shrink } from '../runner/shrink.ts';
import type { SimulationFailure } from '../runner/simulation.ts';
import { drawHistory } from './draw-history.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { simplifyStep } from './simplify-step.ts';
import { runHistory } from './simulate.ts';
import type { SyncHistory } from './step.ts';

const NAME = 'the data of a deleted user stays';

describe('the seed of a history', () => {
  it('[SIM-10] a seed always gives the same history', () => {
    expect(drawHistory(7)).toEqual(drawHistory(7));
    expect(drawHistory(7)).not.toEqual({ ...drawHistory(8), seed: 7 });
  });

  it('[SIM-10] a history can be written as JSON and read again', () => {
    const history = drawHistory(7);
    expect(JSON.parse(JSON.stringify(history))).toEqual(history);
  });

  it('[SIM-10] a history fails in the same way every time, and its failure names the command that replays it', async () => {
    const [history, failure] = await firstFailure();
    expect(await runHistory(history, bug().makeServer)).toEqual(failure);
    expect(failure.message).toContain(`seed ${history.seed}, step ${failure.stepNumber} of ${history.steps.length}`);
    expect(failure.message).toContain(`npm run sim -- histories --seed ${history.seed} --engine memory`);
  });
});

describe('a history that fails', () => {
  it('[SIM-10] a failing history is shrunk to the steps that the failure needs', async () => {
    const [history, failure] = await firstFailure();
    const run = (shorter: SyncHistory) => runHistory(shorter, bug().makeServer);
    const shrunk = await shrink(history, failure, { run, runsMax: 500, simplifyStep });
    expect(shrunk.failure.rule).toBe(failure.rule);
    expect(shrunk.history.steps.map(({ kind }) => kind)).toEqual(['write', 'recreate_user']);
  });
});

async function firstFailure(): Promise<[SyncHistory, SimulationFailure]> {
  for (let seed = 1; seed < 100; seed++) {
    const history = drawHistory(seed);
    const failure = await runHistory(history, bug().makeServer);
    if (failure?.rule === bug().breaks) return [history, failure];
  }
  throw new Error('no history shows the bug');
}

function bug() {
  const found = PLANTED_BUGS.find(({ name }) => name === NAME);
  if (found === undefined) throw new Error(`no such bug: ${NAME}`);
  return found;
}
