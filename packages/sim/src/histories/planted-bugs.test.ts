import { describe, expect, it } from 'vitest';
import { findPlantedBug, seedsFrom } from '../runner/simulation.ts';
import type { SyncRule } from '../runner/violation.ts';
import { drawHistory } from './draw-history.ts';
import { memoryServer } from './engines.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { runHistory } from './simulate.ts';

const FIRST_SEED = 100_001;
/** Most bugs show within ten histories, the rarest need several hundred. */
const HISTORIES_MAX = 1_500;

describe('bugs planted in the server', () => {
  it.each(PLANTED_BUGS)('[SIM-11] the simulation notices that $name', async ({ breaks, makeServer }) => {
    const failure = await findPlantedBug({
      seeds: seedsFrom(FIRST_SEED, HISTORIES_MAX),
      drawHistory,
      breaks,
      withBug: (history) => runHistory(history, makeServer),
      withoutBug: (history) => runHistory(history, memoryServer()),
    });
    expect(failure?.rule).toBe(breaks);
  });

  it('[SIM-11] there is a planted bug against every rule of the simulation', () => {
    const rules: SyncRule[] = [
      'SIM-1',
      'SIM-13',
      'SIM-2',
      'SIM-3',
      'SIM-4',
      'SIM-5',
      'SIM-6',
      'SIM-7',
      'SIM-8',
      'SIM-9',
    ];
    expect([...new Set(PLANTED_BUGS.map(({ breaks }) => breaks))].sort()).toEqual(rules);
  });
});
