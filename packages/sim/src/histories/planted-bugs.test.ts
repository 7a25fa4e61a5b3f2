import { describe, expect, it } from 'vitest';
import { findPlantedBug, seedsFrom } from '../runner/simulation.ts';
import type { SyncRule } from '../runner/violation.ts';
import { drawHistory } from './draw-history.ts';
import { memoryServer } from './engines.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { runHistory } from './simulate.ts';

const FIRST_SEED = 100_001;
/**
 * Where the search for a rare bug begins, so that it takes a few histories instead of hundreds. When a change of the
 * drawing moves the bug to other seeds, the search merely takes longer.
 */
const FIRST_SEEDS: Readonly<Record<string, number>> = {
  'a document is read to its end though tombstones not read yet are trimmed': 100_210,
  'a patch is sent though marks of removal that it needs are trimmed': 100_065,
  'a recreated partition has the epoch of the old one': 100_036,
  'a write continues for the next user of the login': 100_116,
  'a write succeeds though its user is deleted': 100_038,
  'objects that a write leaves alone are not checked': 100_116,
};
/** Most bugs show within ten histories, the rarest need several hundred. */
const HISTORIES_MAX = 1_500;

describe('bugs planted in the server', () => {
  it.each(PLANTED_BUGS)('[SIM-11] the simulation notices that $name', async ({ name, breaks, makeServer }) => {
    const failure = await findPlantedBug({
      seeds: seedsFrom(FIRST_SEEDS[name] ?? FIRST_SEED, HISTORIES_MAX),
      drawHistory,
      breaks,
      withBug: (history) => runHistory(history, makeServer),
      withoutBug: (history) => runHistory(history, memoryServer()),
    });
    expect(failure?.rule).toBe(breaks);
  });

  it('[SIM-11] every rare bug with a first seed is a planted bug', () => {
    const names = PLANTED_BUGS.map(({ name }) => name);
    expect(Object.keys(FIRST_SEEDS).filter((name) => !names.includes(name))).toEqual([]);
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
