import { expect, it } from 'vitest';
import { plantedSearches } from '../planted/planted-searches.ts';
import { findPlanted, plantedNames } from '../planted/planted-seeds.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';

/** Ends a search that hangs. Histories take as long as the machine needs. */
const TIMEOUT_MS = 3_600_000;

it.each(plantedSearches('uploads'))(
  '[UPSIM-6] [SIM-90] the simulation of uploads notices that $name',
  { timeout: TIMEOUT_MS },
  async (search) => {
    expect((await findPlanted(search)).rule).toBe(search.breaks);
  },
);

it('[SIM-90] every bug planted in the simulation of uploads has a seed, and every seed belongs to one', async () => {
  expect(await plantedNames('uploads')).toEqual(PLANTED_BUGS.map(({ name }) => name).sort());
});

it('[UPSIM-6] there is a planted bug against every rule of the simulation of uploads', () => {
  const rules = ['UPSIM-1', 'UPSIM-2', 'UPSIM-3', 'UPSIM-4', 'UPSIM-5'];
  expect([...new Set(PLANTED_BUGS.map(({ breaks }) => breaks))].sort()).toEqual(rules);
});
