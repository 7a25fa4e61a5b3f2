import type { Command } from '../runner/command.ts';
import { runTornSockets } from './run-torn-sockets.ts';

const MINUTES_DEFAULT = 10;
const PROGRESS_EVERY = 5_000;

export const tornSocketsCommand: Command = {
  name: 'torn-sockets',
  summary: 'Callers that hang up at any moment, at every route; fails when the server keeps resources.',
  options: [
    { name: 'minutes', value: 'N', help: `how long sockets are torn (default ${MINUTES_DEFAULT})` },
    { name: 'store', value: 'S', help: 'embedded (default) or valkey' },
    { name: 'seed', value: 'S', help: 'the seed of the run (default: random)' },
  ],
  run: async (options) => {
    const minutes = options.number('minutes', 1) ?? MINUTES_DEFAULT;
    const store = options.choice('store', ['embedded', 'valkey']);
    const seed = options.number('seed') ?? Date.now() % 1_000_000;
    process.stderr.write(`seed ${seed}: tearing sockets for ${minutes} minutes, ${store} store\n`);
    const { torn, before, after, problems } = await runTornSockets({ store, seed, isEnough: timer(minutes) });
    process.stdout.write(`${torn} sockets torn\nbefore ${JSON.stringify(before)}\nafter  ${JSON.stringify(after)}\n`);
    for (const problem of problems) process.stdout.write(`${problem}\n`);
    return problems.length === 0 ? 0 : 1;
  },
};

/** Returns true when the minutes since the first socket have passed. */
function timer(minutes: number): (torn: number) => boolean {
  let endMs = Number.POSITIVE_INFINITY;
  return (torn) => {
    if (torn === 0) endMs = Math.min(endMs, performance.now() + minutes * 60_000);
    if (torn > 0 && torn % PROGRESS_EVERY === 0) process.stderr.write(`${torn} sockets torn\n`);
    return performance.now() >= endMs;
  };
}
