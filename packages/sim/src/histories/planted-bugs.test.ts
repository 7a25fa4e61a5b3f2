import { describe, expect, it } from 'vitest';
import { plantedSearches } from '../planted/planted-searches.ts';
import { findPlanted, plantedNames } from '../planted/planted-seeds.ts';
import type { SyncRule } from '../runner/violation.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';

describe('bugs planted in the server', () => {
  it.each(plantedSearches('histories'))('[SIM-11] [SIM-90] the simulation notices that $name', async (search) => {
    expect((await findPlanted(search)).rule).toBe(search.breaks);
  });

  it('[SIM-90] a kept history that does not show its planted bug fails', async () => {
    const [search] = plantedSearches('histories');
    if (search === undefined) throw new Error('no bug is planted');
    const blind = { ...search, historiesMax: 1, show: async () => null, runWithBug: async () => null };
    await expect(findPlanted(blind)).rejects.toThrow(/show.* that a receipt counts a token presented before/);
  });

  it('[SIM-90] every planted bug has a seed, and every seed belongs to a planted bug', async () => {
    expect(await plantedNames('histories')).toEqual(PLANTED_BUGS.map(({ name }) => name).sort());
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
