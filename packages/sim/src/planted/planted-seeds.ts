import { readFile, writeFile } from 'node:fs/promises';
import type { Command } from '../runner/command.ts';
import { failedSeedsOf } from '../runner/failed-seeds.ts';
import { type SimulationFailure, seedsFrom } from '../runner/simulation.ts';
import {
  closeSearches,
  type PlantedSearch,
  plantedSearches,
  SEARCHED_SIMULATIONS,
  type SearchedSimulation,
} from './planted-searches.ts';

/** Simulation → name of a planted bug → the seed of a history that shows it. */
type PlantedSeeds = Readonly<Record<string, Readonly<Record<string, number>>>>;

// The path starts at the package, because the build does not copy this file to dist.
const FILE = new URL('../../src/planted/planted-seeds.json', import.meta.url);
/** Histories with these seeds are in no campaign, so that a campaign finds other bugs than the searches do. */
const FIRST_SEED = 100_001;
/** How failed-seeds.json names the simulations. */
const FAILED_AS: Readonly<Record<SearchedSimulation, string>> = {
  histories: 'histories on memory',
  groups: 'groups on memory',
  sdk: 'sdk',
  uploads: 'uploads',
  files: 'files',
  postgres: 'postgres',
};

/**
 * Runs the history that is kept for a planted bug; `npm run test:long` searches for one instead, and only takes one that passes
 * without the bug. Returns the failure that shows the bug, and throws if there is none.
 */
export async function findPlanted(search: PlantedSearch): Promise<SimulationFailure> {
  if (process.env.TIDEMARK_LONG_TESTS === '1') {
    const found = await searchFor(search);
    if (found !== null) return found;
    throw new Error(`none of ${search.historiesMax} histories shows that ${search.name}`);
  }
  const seed = (await readSeeds())[search.simulation]?.[search.name];
  const failure = seed === undefined ? null : await search.runWithBug(seed);
  if (failure?.rule === search.breaks) return failure;
  const problem =
    seed === undefined ? 'no history is kept that shows' : `the history of seed ${seed} does not show any more`;
  throw new Error(`${problem} that ${search.name}; npm run sim -- planted looks for one and keeps its seed`);
}

/** Returns the names of planted bugs that have a seed, in alphabetical order. */
export async function plantedNames(simulation: SearchedSimulation): Promise<readonly string[]> {
  return Object.keys((await readSeeds())[simulation] ?? {}).sort();
}

/** Tries the failed seeds of a bug first: rare bugs show in one of a thousand histories. */
async function searchFor({ simulation, name, show, historiesMax }: PlantedSearch): Promise<SimulationFailure | null> {
  const failed = await failedSeedsOf(FAILED_AS[simulation], name);
  for (const seed of [...failed, ...seedsFrom(FIRST_SEED, historiesMax)]) {
    const failure = await show(seed);
    if (failure !== null) return failure;
  }
  return null;
}

async function readSeeds(): Promise<PlantedSeeds> {
  return JSON.parse(await readFile(FILE, 'utf8')) as PlantedSeeds;
}

/** Returns the seed that is kept if its history still shows the bug, and otherwise another one. Null: there is none. */
async function seedFor(search: PlantedSearch, kept: number | undefined): Promise<number | null> {
  if (kept !== undefined && (await search.show(kept)) !== null) return kept;
  return (await searchFor(search))?.seed ?? null;
}

export const plantedCommand: Command = {
  name: 'planted',
  summary: 'Looks for histories that show the planted bugs, and keeps their seeds for the everyday tests.',
  options: [
    { name: 'simulation', value: 'S', help: `only this one: ${SEARCHED_SIMULATIONS.join(', ')} (default: all)` },
  ],
  run: async (options) => {
    const only = options.text('simulation') === undefined ? null : options.choice('simulation', SEARCHED_SIMULATIONS);
    const missed: string[] = [];
    let seeds = await readSeeds();
    for (const simulation of only === null ? SEARCHED_SIMULATIONS : [only]) {
      const found: Record<string, number> = {};
      for (const search of plantedSearches(simulation)) {
        const seed = await seedFor(search, seeds[simulation]?.[search.name]);
        if (seed === null) missed.push(search.name);
        else found[search.name] = seed;
        process.stderr.write(`${simulation}: seed ${seed ?? '–'} shows that ${search.name}\n`);
      }
      seeds = { ...seeds, [simulation]: found };
      await writeFile(FILE, `${JSON.stringify(seeds, null, 2)}\n`);
    }
    await closeSearches();
    for (const name of missed) process.stdout.write(`no history shows that ${name}\n`);
    return missed.length === 0 ? 0 : 1;
  },
};
