import { readFile, writeFile } from 'node:fs/promises';

/** A history that once found something; every campaign tries it first. */
export interface FailedSeed {
  readonly simulation: string;
  readonly seed: number;
  /** What it found; of a planted bug, its name. */
  readonly found: string;
}

// The path starts at the package, because the build does not copy this file to dist.
const FILE = new URL('../../src/runner/failed-seeds.json', import.meta.url);

/** Returns the seeds that once found something in a simulation; `found` limits them to one finding. */
export async function failedSeedsOf(simulation: string, found?: string): Promise<readonly number[]> {
  const own = (await readFailedSeeds()).filter((failed) => failed.simulation === simulation);
  return [...new Set(own.filter((failed) => found === undefined || failed.found === found).map(({ seed }) => seed))];
}

export async function keepFailedSeed(kept: FailedSeed): Promise<void> {
  const texts = [...(await readFailedSeeds()), kept].map(({ simulation, seed, found }) => {
    return `  { "simulation": ${JSON.stringify(simulation)}, "seed": ${seed}, "found": ${JSON.stringify(found)} }`;
  });
  await writeFile(FILE, `[\n${[...new Set(texts)].join(',\n')}\n]\n`);
}

async function readFailedSeeds(): Promise<readonly FailedSeed[]> {
  const content: unknown = JSON.parse(await readFile(FILE, 'utf8'));
  if (Array.isArray(content) && content.every(isFailedSeed)) return content;
  throw new Error('failed-seeds.json: expected a list of { simulation, seed, found }');
}

function isFailedSeed(value: unknown): value is FailedSeed {
  if (typeof value !== 'object' || value === null) return false;
  const { simulation, seed, found } = value as Record<string, unknown>;
  return typeof simulation === 'string' && Number.isSafeInteger(seed) && typeof found === 'string';
}
