import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing/kit';
import { type Command, type OptionValues, UsageError } from '../runner/command.ts';
import { ChaosRun, type ChaosRunOptions } from './chaos-run.ts';
import { CHAOS_ENGINES } from './cluster.ts';
import { PLANT_NAMES, type PlantName } from './plants.ts';

export interface ChaosOptions extends ChaosRunOptions {
  /** How long faults are injected in each round. */
  readonly roundMs: number;
  /** Asked before each round but the first; true ends the run. */
  readonly isEnough: (rounds: number) => boolean;
  readonly onRound?: (report: ChaosReport) => void;
}

export interface ChaosReport {
  readonly rounds: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly pushes: { readonly acknowledged: number; readonly unanswered: number };
  readonly reads: number;
  readonly receipts: number;
  /** How many queries the backend got. */
  readonly queries: number;
  readonly uploads: { readonly made: number; readonly performedByBackend: number };
  readonly deviceKills: number;
  /** How long the last round took to converge. */
  readonly healedMs: number;
  readonly problems: readonly string[];
}

/** Disturbs servers, store, network, clocks and devices in rounds. After each of them everything must converge. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const run = await ChaosRun.open(options);
  try {
    if (options.isCalm) await run.checkCalm();
    let report = reportOf(run, 0, 0);
    for (let round = 1; report.problems.length === 0 && (round === 1 || !options.isEnough(round - 1)); round++) {
      await run.disturb(options.roundMs);
      report = reportOf(run, round, run.problems.length > 0 ? 0 : await run.heal());
      options.onRound?.(report);
    }
    if (report.problems.length === 0) await run.checkStatistics();
    report = { ...report, problems: [...run.problems] };
    if (report.problems.length > 0) await run.cluster.keepLogs();
    return report;
  } finally {
    await run.close();
  }
}

function reportOf(run: ChaosRun, rounds: number, healedMs: number): ChaosReport {
  const { pushers, devices, backend, nemesis } = run;
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  return {
    rounds,
    faults: Object.fromEntries([...nemesis.counts].sort()),
    pushes: { acknowledged: pushers.acknowledged, unanswered: pushers.unanswered },
    reads: pushers.reads,
    receipts: run.receipts,
    queries: backend.queries.count,
    uploads: { made: sum(devices.map(({ uploads }) => uploads)), performedByBackend: backend.performed },
    deviceKills: sum(devices.map(({ kills }) => kills)),
    healedMs,
    problems: [...run.problems],
  };
}

const MINUTES_DEFAULT = 10;
const SERVERS_DEFAULT = 2;
const SERVERS_MAX = 4;
const ROUND_MS = 20_000;
const PROBLEM_UNITS_MAX = 2_000;

export const PLANT_OPTION = {
  name: 'plant',
  value: 'B',
  help: `puts a bug into the servers, which the run must find: ${PLANT_NAMES.join(', ')}`,
};

export function plantOf(options: OptionValues): PlantName | null {
  return options.text('plant') === undefined ? null : options.choice('plant', PLANT_NAMES);
}

export const chaosCommand: Command = {
  name: 'chaos',
  summary: 'Real servers, store, backend and devices under faults of every kind; fails when a promise is broken.',
  options: [
    { name: 'minutes', value: 'N', help: `how long (default ${MINUTES_DEFAULT}); the last round is finished` },
    { name: 'engine', value: 'E', help: `${CHAOS_ENGINES.join(', ')} (default ${CHAOS_ENGINES[0]})` },
    { name: 'servers', value: 'N', help: `how many servers, 1 to ${SERVERS_MAX} (default ${SERVERS_DEFAULT})` },
    { name: 'seed', value: 'S', help: 'the seed of the run (default: random)' },
    { name: 'faults', value: 'F,F', help: 'only these faults, such as stall_store,fail_over (default: all)' },
    PLANT_OPTION,
  ],
  run: async (options) => {
    const minutes = options.number('minutes', 1) ?? MINUTES_DEFAULT;
    const engine = options.choice('engine', CHAOS_ENGINES);
    const servers = options.number('servers', 1) ?? SERVERS_DEFAULT;
    const seed = options.number('seed') ?? Date.now() % 1_000_000;
    const plant = plantOf(options);
    if (servers > SERVERS_MAX) throw new UsageError(`--servers: expected at most ${SERVERS_MAX}, got ${servers}`);
    const faults = options.text('faults')?.split(',');
    const run = { seed, engine, servers, plant, ...(faults === undefined ? {} : { faults }) };
    const endMs = performance.now() + minutes * 60_000;
    return runAndPrint(run, `${minutes} minutes`, () => performance.now() >= endMs);
  },
};

/** Runs in a folder of its own, which is kept if there are problems. Returns the exit code. */
export async function runAndPrint(
  options: Omit<ChaosRunOptions, 'folder'>,
  length: string,
  isEnough: ChaosOptions['isEnough'],
): Promise<number> {
  const { seed, engine, servers } = options;
  process.stderr.write(`seed ${seed}: ${length}, ${servers} servers on one ${engine} store\n`);
  const folder = await temporaryFolder();
  const run = { ...options, folder: folder.path, roundMs: ROUND_MS, isEnough, onRound: printRound };
  const report = await runChaos(run);
  process.stdout.write(`${JSON.stringify({ seed, engine, servers, ...report, problems: report.problems.length })}\n`);
  if (report.problems.length === 0) {
    await folder.remove();
    return 0;
  }
  await writeFile(join(folder.path, 'problems.txt'), `${report.problems.join('\n\n')}\n`);
  for (const problem of report.problems) process.stdout.write(`${problem.slice(0, PROBLEM_UNITS_MAX)}\n`);
  process.stdout.write(`the data, the logs of the servers and problems.txt are in ${folder.path}\n`);
  return 1;
}

function printRound({ rounds, pushes, uploads, receipts, healedMs, problems }: ChaosReport): void {
  const load = `${pushes.acknowledged} pushes acknowledged, ${pushes.unanswered} not, ${uploads.made} uploads, ${receipts} receipts`;
  process.stderr.write(`round ${rounds}: ${load}; healed in ${Math.round(healedMs)} ms, ${problems.length} problems\n`);
}
