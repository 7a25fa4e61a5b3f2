import { describe, expect, it } from 'vitest';
import { failedSeedsOf } from '../runner/failed-seeds.ts';
import { findPlantedBug, seedsFrom } from '../runner/simulation.ts';
import { drawHistory } from './draw-history.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { runHistory, uploadSimulation } from './simulate.ts';

/** Tried when the failed seed of the bug does not show it any more. */
const HISTORIES_MAX = 2_000;

describe('bugs planted in uploads', () => {
  it.each(PLANTED_BUGS)('[UPSIM-6] the simulation of uploads notices that $name', async (bug) => {
    const failure = await findPlantedBug({
      seeds: [...(await failedSeedsOf(uploadSimulation.name, bug.name)), ...seedsFrom(1, HISTORIES_MAX)],
      drawHistory,
      breaks: bug.breaks,
      withBug: (history) => runHistory(history, bug),
      withoutBug: (history) => runHistory(history),
    });
    expect(failure?.rule).toBe(bug.breaks);
  });

  it('[UPSIM-6] there is a planted bug against every rule of the simulation of uploads', () => {
    const rules = ['UPSIM-1', 'UPSIM-2', 'UPSIM-3', 'UPSIM-4', 'UPSIM-5'];
    expect([...new Set(PLANTED_BUGS.map(({ breaks }) => breaks))].sort()).toEqual(rules);
  });
});
