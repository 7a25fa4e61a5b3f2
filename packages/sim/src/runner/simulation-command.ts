import { randomInt } from 'node:crypto';
import type { Option, OptionValues } from './command.ts';
import { failedSeedsOf, keepFailedSeed } from './failed-seeds.ts';
import { shrink } from './shrink.ts';
import { type History, runCampaign, type Simulation, type SimulationFailure, seedsFrom } from './simulation.ts';

const SEEDS_BELOW = 2 ** 31;
const SHRINK_RUNS_MAX = 1_500;
const PROGRESS_EVERY_MS = 2_000;

/** The options that every simulation has. */
export function simulationOptions(historiesDefault: number): readonly Option[] {
  return [
    {
      name: 'histories',
      value: 'N',
      help: `how many histories to run (default ${historiesDefault}; with --seed: that one)`,
    },
    {
      name: 'seed',
      value: 'S',
      help: 'the first seed; the others follow it (default: random, after the failed seeds)',
    },
    { name: 'seconds', value: 'T', help: 'stop after this time; without --histories, as many histories as fit' },
    { name: 'keep', help: 'add the seed of a failure to failed-seeds.json, so that every run tries it first' },
  ];
}

/** Runs a simulation as the options say, and explains the first failure. Returns the exit code. */
export async function runSimulation<H extends History>(
  simulation: Simulation<H>,
  options: OptionValues,
  historiesDefault: number,
): Promise<number> {
  const seed = options.number('seed');
  const seconds = options.number('seconds');
  const fallback = seconds !== undefined ? Number.POSITIVE_INFINITY : seed === undefined ? historiesDefault : 1;
  const histories = options.number('histories') ?? fallback;
  const first = seed ?? randomInt(SEEDS_BELOW);
  const failed = seed === undefined ? await failedSeedsOf(simulation.name) : [];
  const startedMs = performance.now();
  const passedMs = () => performance.now() - startedMs;
  const result = await runCampaign(simulation, {
    seeds: concatenated(failed, seedsFrom(first, histories)),
    isSpent: () => passedMs() >= (seconds ?? Number.POSITIVE_INFINITY) * 1_000,
    onHistory: progressReporter(passedMs),
  });
  const verdict = result.failure === null ? 'all passed' : 'the last one FAILED';
  const took = (passedMs() / 1_000).toFixed(1);
  print(`${simulation.name}: ${result.histories} histories from seed ${first} in ${took} s: ${verdict}\n`);
  if (result.failure === null) return 0;
  await explain(simulation, result.failure);
  const found = result.failure.rule ?? 'an unexpected error';
  if (options.has('keep')) await keepFailedSeed({ simulation: simulation.name, seed: result.failure.seed, found });
  return 1;
}

function* concatenated(...lists: readonly Iterable<number>[]): Generator<number> {
  for (const list of lists) yield* list;
}

function progressReporter(passedMs: () => number): (count: number) => void {
  let reportedMs = 0;
  return (count) => {
    const nowMs = passedMs();
    if (nowMs - reportedMs < PROGRESS_EVERY_MS) return;
    reportedMs = nowMs;
    process.stderr.write(`${count} histories, ${Math.round((count * 1_000) / nowMs)} per second\n`);
  };
}

/** Prints the failure, then the shortest history found that still shows it. */
async function explain<H extends History>(simulation: Simulation<H>, failure: SimulationFailure): Promise<void> {
  print(`\n${failure.message}\n\nshrinking …\n`);
  const runners = await simulation.openRunners();
  const [runner] = runners;
  try {
    if (runner === undefined) return;
    const { simplifyStep, shrinkRunsMax: runsMax = SHRINK_RUNS_MAX } = simulation;
    const how = { run: runner.run, runsMax, simplifyStep };
    const shrunk = await shrink(simulation.drawHistory(failure.seed), failure, how);
    const { steps, ...setting } = shrunk.history;
    const lines = steps.map((step, index) => `  ${index + 1}. ${JSON.stringify(step)}`);
    print(`${steps.length} steps are left after ${shrunk.runs} runs:\n`);
    print(`${JSON.stringify(setting)}\n${lines.join('\n')}\n${shrunk.failure.message}\n`);
  } finally {
    await Promise.all(runners.map((open) => open.close()));
  }
}

function print(text: string): void {
  process.stdout.write(text);
}
