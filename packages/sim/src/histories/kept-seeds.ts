import { readFile, writeFile } from 'node:fs/promises';
import { ENGINES, type Engine } from './engines.ts';

/** A history that once found something, and is tried before all others ever since. */
export interface KeptSeed {
  readonly seed: number;
  readonly engine: Engine;
  /** What it found. */
  readonly found: string;
}

// Named from the package, because the file is not copied to where the built code lies.
const FILE = new URL('../../src/histories/failed-seeds.json', import.meta.url);

export async function readKeptSeeds(): Promise<KeptSeed[]> {
  const content: unknown = JSON.parse(await readFile(FILE, 'utf8'));
  if (!Array.isArray(content) || !content.every(isKeptSeed)) throw new Error('failed-seeds.json has a wrong form');
  return content;
}

export async function keepSeed(kept: KeptSeed): Promise<void> {
  const others = (await readKeptSeeds()).filter(({ seed, engine }) => seed !== kept.seed || engine !== kept.engine);
  const lines = [...others, kept].map(({ seed, engine, found }) => {
    return `  { "seed": ${seed}, "engine": "${engine}", "found": ${JSON.stringify(found)} }`;
  });
  await writeFile(FILE, `[\n${lines.join(',\n')}\n]\n`);
}

function isKeptSeed(value: unknown): value is KeptSeed {
  if (typeof value !== 'object' || value === null) return false;
  const { seed, engine, found } = value as Record<string, unknown>;
  return Number.isSafeInteger(seed) && ENGINES.some((known) => known === engine) && typeof found === 'string';
}
