import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { drawUploadHistory } from './draw-history.ts';
import { keepUploadSeed, readKeptUploadSeeds } from './kept-seeds.ts';
import { shrinkUploads } from './shrink.ts';
import { seedsFrom, tryUploadHistories, type UploadFailure } from './simulate.ts';

const HISTORIES_DEFAULT = 2_000;
const SEEDS_BELOW = 2 ** 31;
const SHRINK_RUNS_MAX = 500;
const PROGRESS_EVERY = 500;
const EXIT_USAGE = 64;

const USAGE = `usage: npm run sim:uploads -- [--histories N] [--seed S] [--keep]

  --histories N  how many histories to try (default ${HISTORIES_DEFAULT}; with --seed alone: that one)
  --seed S       the first seed; the others follow it (default: any)
  --keep         keep the seed of a failure in failed-seeds.json, to be tried first from now on
`;

interface Options {
  readonly histories: number;
  readonly seed: number | null;
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
  const kept = options.seed === null ? (await readKeptUploadSeeds()).map(({ seed }) => seed) : [];
  const failure = await tryUploadHistories([...kept, ...seedsFrom(first, options.histories)], (count) => {
    if (count % PROGRESS_EVERY === 0) process.stderr.write(`${count} histories\n`);
  });
  if (failure !== null) return explain(failure, options);
  process.stdout.write(`${kept.length + options.histories} histories from seed ${first}: all held\n`);
  return 0;
}

function readOptions(args: readonly string[]): Options | null {
  const option = { type: 'string' } as const;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { histories: option, seed: option, keep: { type: 'boolean' } },
    });
    const seed = wholeNumber(values.seed);
    const histories = wholeNumber(values.histories) ?? (seed === null ? HISTORIES_DEFAULT : 1);
    return { histories, seed, keep: values.keep === true };
  } catch {
    return null;
  }
}

function wholeNumber(text: string | undefined): number | null {
  if (text === undefined) return null;
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`not a whole number: ${text}`);
  return number;
}

/** Tells the failure, then looks for a shorter history that still shows it. */
async function explain(failure: UploadFailure, { keep }: Options): Promise<number> {
  process.stdout.write(`${failure.message}\n\nshrinking …\n`);
  if (keep) await keepUploadSeed({ seed: failure.seed, found: failure.rule ?? 'an unexpected error' });
  const shrunk = await shrinkUploads(drawUploadHistory(failure.seed), failure, SHRINK_RUNS_MAX);
  const { steps, ...setting } = shrunk.history;
  const lines = steps.map((step, index) => `  ${index + 1}. ${JSON.stringify(step)}`);
  process.stdout.write(`${JSON.stringify(setting)}\n${lines.join('\n')}\n${shrunk.failure.message}\n`);
  return 1;
}
