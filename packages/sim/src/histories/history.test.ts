import { describe, expect, it } from 'vitest';
import { drawHistory } from './history.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { shrink } from './shrink.ts';
import { findFailure, type SimulationFailure } from './simulate.ts';
import type { History } from './step.ts';

const NAME = 'the data of a deleted user stays';

describe('a seed', () => {
  it('[SIM-10] always means the same history', () => {
    expect(drawHistory(7)).toEqual(drawHistory(7));
    expect(drawHistory(7)).not.toEqual({ ...drawHistory(8), seed: 7 });
  });

  it('[SIM-10] means a history that survives being written down', () => {
    const history = drawHistory(7);
    expect(JSON.parse(JSON.stringify(history))).toEqual(history);
  });

  it('[SIM-10] fails in the same way every time, and says how to see it again', async () => {
    const [history, failure] = await firstFailure();
    expect(await findFailure(history, bug().makeSubject, 'memory')).toEqual(failure);
    expect(failure.message).toContain(`seed ${history.seed}, step ${failure.stepNumber} of ${history.steps.length}`);
    expect(failure.message).toContain(`npm run sim -- --seed ${history.seed} --engine memory`);
  });
});

describe('a failing history', () => {
  it('[SIM-10] is shortened to the steps it takes', async () => {
    const [history, failure] = await firstFailure();
    const how = { makeSubject: bug().makeSubject, engine: 'memory', runsMax: 500 };
    const shrunk = await shrink(history, failure, how);
    expect(shrunk.failure.rule).toBe(failure.rule);
    expect(shrunk.history.steps.map(({ kind }) => kind)).toEqual(['write', 'recreate_user']);
  });
});

async function firstFailure(): Promise<[History, SimulationFailure]> {
  for (let seed = 1; seed < 100; seed++) {
    const history = drawHistory(seed);
    const failure = await findFailure(history, bug().makeSubject, 'memory');
    if (failure?.rule === bug().breaks) return [history, failure];
  }
  throw new Error('no history shows the bug');
}

function bug() {
  const found = PLANTED_BUGS.find(({ name }) => name === NAME);
  if (found === undefined) throw new Error(`no such bug: ${NAME}`);
  return found;
}
