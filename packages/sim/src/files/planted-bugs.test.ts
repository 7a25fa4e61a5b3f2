import { expect, it } from 'vitest';
import { plantedSearches } from '../planted/planted-searches.ts';
import { findPlanted, plantedNames } from '../planted/planted-seeds.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';

/** Ends a search that hangs. Histories take as long as the machine needs. */
const TIMEOUT_MS = 3_600_000;

it.each(plantedSearches('files'))(
  '[FILESIM-6] the simulation of files notices that $name',
  { timeout: TIMEOUT_MS },
  async (search) => {
    expect((await findPlanted(search)).rule).toBe(search.breaks);
  },
);

it('[FILESIM-6] every bug planted in the simulation of files has a seed, and there is one against every rule', async () => {
  expect(await plantedNames('files')).toEqual(PLANTED_BUGS.map(({ name }) => name).sort());
  const rules = ['FILESIM-1', 'FILESIM-2', 'FILESIM-3', 'FILESIM-4', 'FILESIM-5'];
  expect([...new Set(PLANTED_BUGS.map(({ breaks }) => breaks))].sort()).toEqual(rules);
});
