import { runCampaign, seedsFrom } from './campaign.ts';
import type { Engine } from './engines.ts';
import { readKeptSeeds } from './kept-seeds.ts';

/** Set by `npm run test:long`, which tries thousands of histories where `npm test` tries hundreds. */
const IS_LONG_RUN = process.env.TIDEMARK_LONG_TESTS === '1';

/** Ends a test that hangs. Histories take as long as the machine needs, so this is far beyond every run seen. */
export const HISTORIES_TIMEOUT_MS = 3_600_000;

export interface HistoryCounts {
  /** How many random histories `npm test` tries. */
  readonly everyday: number;
  /** How many `npm run test:long` tries; the everyday ones are among them. */
  readonly long: number;
  readonly firstSeed: number;
}

/**
 * Runs the histories that once found something on this engine, then random ones. Throws the first failure. Returns how
 * many histories ran and how many were due.
 */
export async function tryHistories(
  engine: Engine,
  { everyday, long, firstSeed }: HistoryCounts,
): Promise<{ readonly ran: number; readonly due: number }> {
  const kept = (await readKeptSeeds()).filter((seed) => seed.engine === engine).map(({ seed }) => seed);
  const seeds = [...kept, ...seedsFrom(firstSeed, IS_LONG_RUN ? long : everyday)];
  const result = await runCampaign({ engine, seeds });
  if (result.failure !== null) throw result.failure;
  return { ran: result.histories, due: seeds.length };
}
