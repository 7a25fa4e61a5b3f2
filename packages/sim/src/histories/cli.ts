import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { type CampaignResult, runCampaign, seedsFrom } from './campaign.ts';
import { ENGINES, type Engine, openBench } from './engines.ts';
import { drawHistory } from './history.ts';
import { keepSeed, readKeptSeeds } from './kept-seeds.ts';
import { shrink } from './shrink.ts';
import { replayCommand, type SimulationFailure } from './simulate.ts';
import type { History } from './step.ts';

const HISTORIES_DEFAULT = 2_000;
const SEEDS_BELOW = 2 ** 31;
const SHRINK_RUNS_MAX = 1_500;
const PROGRESS_EVERY_MS = 2_000;
const EXIT_USAGE = 64;

const USAGE = `usage: npm run sim -- [--histories N] [--engine E] [--seed S] [--seconds T] [--keep]

  --histories N  how many histories to try (default ${HISTORIES_DEFAULT}; with --seed alone: that one)
  --engine E     memory (default), embedded, valkey or valkey-cluster
  --seed S       the first seed; the others follow it (default: any)
  --seconds T    end after this time; without --histories, as many histories as fit
  --keep         keep the seed of a failure in failed-seeds.json, to be tried first from now on
`;

interface Options {
  readonly engine: Engine;
  readonly histories: number;
  readonly seed: number | null;
  readonly seconds: number;
  readonly keep: boolean;
}

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options === null) {
    process.stderr.write(USAGE);
    return EXIT_USAGE;
  }
  const first = options.seed ?? randomInt(SEEDS_BELOW);
  const kept = options.seed === null ? await readKeptSeeds() : [];
  const seeds = [...kept.filter(({ engine }) => engine === options.engine).map(({ seed }) => seed)];
  const startedMs = performance.now();
  const result = await runCampaign({
    engine: options.engine,
    seeds: inOrder(seeds, seedsFrom(first, options.histories)),
    isSpent: () => performance.now() - startedMs >= options.seconds * 1_000,
    onHistory: progressReporter(startedMs),
  });
  summarize(result, options.engine, first, performance.now() - startedMs);
  if (result.failure === null) return 0;
  await explain(result.failure, options);
  return 1;
}

function readOptions(args: readonly string[]): Options | null {
  const option = { type: 'string' } as const;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { histories: option, engine: option, seed: option, seconds: option, keep: { type: 'boolean' } },
    });
    const engine = ENGINES.find((known) => known === (values.engine ?? 'memory'));
    const seed = wholeNumber(values.seed);
    const seconds = wholeNumber(values.seconds);
    const histories = wholeNumber(values.histories) ?? historiesByDefault(seed, seconds);
    if (engine === undefined) return null;
    return { engine, histories, seed, seconds: seconds ?? Number.POSITIVE_INFINITY, keep: values.keep === true };
  } catch {
    return null;
  }
}

function historiesByDefault(seed: number | null, seconds: number | null): number {
  if (seconds !== null) return Number.POSITIVE_INFINITY;
  return seed === null ? HISTORIES_DEFAULT : 1;
}

function wholeNumber(text: string | undefined): number | null {
  if (text === undefined) return null;
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`not a whole number: ${text}`);
  return number;
}

function* inOrder(...lists: readonly Iterable<number>[]): Generator<number> {
  for (const list of lists) yield* list;
}

function progressReporter(startedMs: number): (count: number) => void {
  let lastMs = startedMs;
  return (count) => {
    const nowMs = performance.now();
    if (nowMs - lastMs < PROGRESS_EVERY_MS) return;
    lastMs = nowMs;
    process.stderr.write(`${count} histories, ${Math.round((count * 1_000) / (nowMs - startedMs))} per second\n`);
  };
}

function summarize({ histories, failure }: CampaignResult, engine: Engine, first: number, tookMs: number): void {
  const verdict = failure === null ? 'all held' : 'the last one FAILED';
  const took = (tookMs / 1_000).toFixed(1);
  process.stdout.write(`${histories} histories on ${engine} from seed ${first} in ${took} s: ${verdict}\n`);
}

/** Tells the failure, then looks for the shortest history that still shows it. */
async function explain(failure: SimulationFailure, { engine, keep }: Options): Promise<void> {
  process.stdout.write(`\n${failure.message}\n\nshrinking …\n`);
  const bench = await openBench(engine);
  try {
    const history = drawHistory(failure.seed);
    const how = { makeSubject: bench.makeSubject, engine, runsMax: SHRINK_RUNS_MAX };
    const shrunk = await shrink(history, failure, how);
    process.stdout.write(`${shrunk.history.steps.length} steps are left after ${shrunk.runs} runs:\n`);
    process.stdout.write(`${written(shrunk.history)}\n${shrunk.failure.message}\n`);
  } finally {
    await bench.close();
  }
  if (keep) await keepSeed({ seed: failure.seed, engine, found: failure.rule ?? 'an unexpected error' });
  process.stdout.write(`\n${replayCommand(failure.seed, engine)}\n`);
}

function written(history: History): string {
  const devices = history.devices.map((device, index) => `  device ${index}: ${JSON.stringify(device)}`);
  const steps = history.steps.map((step, index) => `  ${index + 1}. ${JSON.stringify(step)}`);
  return [...devices, ...steps].join('\n');
}
