import { expect, it } from 'vitest';
import { failedSeedsOf } from '../runner/failed-seeds.ts';
import { findPlantedBug, seedsFrom } from '../runner/simulation.ts';
import { drawHistory } from './draw-history.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { runHistory, sdkSimulation } from './simulate.ts';

/** Tried when the failed seed of the bug does not show it any more. */
const HISTORIES_MAX = 200;
/** Ends a test that hangs. Histories take as long as the machine needs. */
const TIMEOUT_MS = 3_600_000;

it.each(PLANTED_BUGS)(
  '[SIM-11] the simulation of SDK devices notices that $name',
  { timeout: TIMEOUT_MS },
  async (bug) => {
    const failure = await findPlantedBug({
      seeds: [...(await failedSeedsOf(sdkSimulation.name, bug.name)), ...seedsFrom(1, HISTORIES_MAX)],
      drawHistory,
      breaks: bug.breaks,
      withBug: (history) => runHistory(history, bug.plant()),
      withoutBug: (history) => runHistory(history),
    });
    expect(failure?.rule).toBe(bug.breaks);
  },
);

it('[SIM-11] there is a planted bug against every rule of the simulation of SDK devices', () => {
  const rules = ['SIM-18', 'SIM-19', 'SIM-20', 'SIM-21', 'SIM-22'];
  expect([...new Set(PLANTED_BUGS.map(({ breaks }) => breaks))].sort()).toEqual(rules);
});
