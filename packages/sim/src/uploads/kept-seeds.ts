import { readFile, writeFile } from 'node:fs/promises';

/** A history that once found something, and is tried before all others ever since. */
export interface KeptUploadSeed {
  readonly seed: number;
  /** What it found; of a planted bug, its name. */
  readonly found: string;
}

// Named from the package, because the file is not copied to where the built code lies.
const FILE = new URL('../../src/uploads/failed-seeds.json', import.meta.url);

export async function readKeptUploadSeeds(): Promise<readonly KeptUploadSeed[]> {
  const content: unknown = JSON.parse(await readFile(FILE, 'utf8'));
  if (!Array.isArray(content) || !content.every(isKept)) throw new Error('failed-seeds.json has a wrong form');
  return content;
}

export async function keepUploadSeed(kept: KeptUploadSeed): Promise<void> {
  const others = (await readKeptUploadSeeds()).filter(({ seed, found }) => seed !== kept.seed || found !== kept.found);
  const lines = [...others, kept].map(({ seed, found }) => `  { "seed": ${seed}, "found": ${JSON.stringify(found)} }`);
  await writeFile(FILE, `[\n${lines.join(',\n')}\n]\n`);
}

function isKept(value: unknown): value is KeptUploadSeed {
  if (typeof value !== 'object' || value === null) return false;
  const { seed, found } = value as Record<string, unknown>;
  return Number.isSafeInteger(seed) && typeof found === 'string';
}
