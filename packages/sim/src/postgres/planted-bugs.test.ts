import { afterAll, describe, expect, it } from 'vitest';
import { closeSearches, plantedSearches } from '../planted/planted-searches.ts';
import { findPlanted, plantedNames } from '../planted/planted-seeds.ts';
import { PLANTED_BUGS } from './plants.ts';

/** Ends a search that hangs. Histories take as long as the machine needs. */
const TIMEOUT_MS = 7_200_000;
const IS_LONG = process.env.TIDEMARK_LONG_TESTS === '1';
/** A history takes seconds of real processes. `npm run test:long` looks for all planted bugs. */
const EVERYDAY = 'a batch that fails is skipped';

describe('bugs planted in the connector for Postgres', () => {
  afterAll(closeSearches);

  it.each(plantedSearches('postgres').filter(({ name }) => IS_LONG || name === EVERYDAY))(
    '[PGSIM-9] the simulation of a connected Postgres notices that $name',
    { timeout: TIMEOUT_MS },
    async (search) => {
      expect((await findPlanted(search)).rule).toBe(search.breaks);
    },
  );

  it('[PGSIM-9] every seed that is kept belongs to a bug that is planted in the connector', async () => {
    const names: readonly string[] = PLANTED_BUGS.map(({ name }) => name);
    expect((await plantedNames('postgres')).filter((name) => !names.includes(name))).toEqual([]);
  });
});
