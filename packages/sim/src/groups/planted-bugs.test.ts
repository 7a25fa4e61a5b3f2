import { expect, it } from 'vitest';
import { failedSeedsOf } from '../runner/failed-seeds.ts';
import { findPlantedBug, seedsFrom } from '../runner/simulation.ts';
import { drawHistory } from './draw-history.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { groupSimulation, memoryRunner } from './simulate.ts';

/** Tried when the failed seed of the bug does not show it any more. */
const HISTORIES_MAX = 600;

it.each(PLANTED_BUGS)('[SIM-11] the simulation of groups notices that $name', async (bug) => {
  const failure = await findPlantedBug({
    seeds: [...(await failedSeedsOf(groupSimulation('memory').name, bug.name)), ...seedsFrom(1, HISTORIES_MAX)],
    drawHistory,
    breaks: bug.breaks,
    withBug: memoryRunner(bug).run,
    withoutBug: memoryRunner().run,
  });
  expect(failure?.rule).toBe(bug.breaks);
});

it('[SIM-11] there is a planted bug against every rule of the simulation of groups', () => {
  const rules = ['GROUP-23', 'SIM-14', 'SIM-15', 'SIM-16', 'SIM-17'];
  expect([...new Set(PLANTED_BUGS.map(({ breaks }) => breaks))].sort()).toEqual(rules);
});
