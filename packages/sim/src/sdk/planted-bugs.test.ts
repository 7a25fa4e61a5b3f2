import { expect, it } from 'vitest';
import { plantedSearches } from '../planted/planted-searches.ts';
import { findPlanted, plantedNames } from '../planted/planted-seeds.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';

/** Ends a search that hangs. Histories take as long as the machine needs. */
const TIMEOUT_MS = 3_600_000;

it.each(plantedSearches('sdk'))(
  '[SIM-11] [SIM-90] the simulation of SDK devices notices that $name',
  { timeout: TIMEOUT_MS },
  async (search) => {
    expect((await findPlanted(search)).rule).toBe(search.breaks);
  },
);

it('[SIM-90] every bug planted in the simulation of SDK devices has a seed, and every seed belongs to one', async () => {
  expect(await plantedNames('sdk')).toEqual(PLANTED_BUGS.map(({ name }) => name).sort());
});

it('[SIM-11] there is a planted bug against every rule of the simulation of SDK devices', () => {
  const rules = ['SIM-18', 'SIM-19', 'SIM-20', 'SIM-21', 'SIM-22', 'SIM-23'];
  expect([...new Set(PLANTED_BUGS.map(({ breaks }) => breaks))].sort()).toEqual(rules);
});
