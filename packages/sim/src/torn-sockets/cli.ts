import { parseArgs } from 'node:util';
import { runTornSockets, type TornOptions } from './run-torn-sockets.ts';

const USAGE = 'usage: npm run torn-sockets -- [--minutes N] [--store embedded|valkey] [--seed S]\n';
const MINUTES_DEFAULT = 10;
const EXIT_USAGE = 64;
const TELL_EVERY = 5_000;

interface Given extends Pick<TornOptions, 'store' | 'seed'> {
  readonly minutes: number;
}

function readArguments(): Given | null {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({ options: { minutes: text, store: text, seed: text } });
    const { store = 'embedded' } = values;
    const minutes = Number(values.minutes ?? MINUTES_DEFAULT);
    const seed = Number(values.seed ?? Date.now() % 1_000_000);
    if (!(minutes > 0) || !Number.isInteger(seed)) return null;
    return store === 'embedded' || store === 'valkey' ? { minutes, store, seed } : null;
  } catch {
    return null;
  }
}

/** The exit code. */
async function main(): Promise<number> {
  const given = readArguments();
  if (given === null) {
    process.stderr.write(USAGE);
    return EXIT_USAGE;
  }
  const { minutes, store, seed } = given;
  process.stderr.write(`seed ${seed}: tearing sockets for ${minutes} minutes, ${store} store\n`);
  let endMs = Number.POSITIVE_INFINITY;
  const isEnough = (torn: number) => {
    if (torn === 0) endMs = Math.min(endMs, performance.now() + minutes * 60_000);
    if (torn > 0 && torn % TELL_EVERY === 0) process.stderr.write(`${torn} sockets torn\n`);
    return performance.now() >= endMs;
  };
  const { torn, before, after, problems } = await runTornSockets({ store, seed, isEnough });
  process.stderr.write(`${torn} sockets torn\nbefore ${JSON.stringify(before)}\nafter  ${JSON.stringify(after)}\n`);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  return problems.length === 0 ? 0 : 1;
}

process.exitCode = await main();
