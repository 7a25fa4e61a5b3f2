import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tidemark } from '@tidemark/core';
import { Rng, seededRandom, temporaryFolder } from '@tidemark/testing/kit';
import { runWorker } from '../../processes/run-worker.ts';
import { type Command, UsageError } from '../../runner/command.ts';
import { type Check, checkStore } from './check-store.ts';
import { drawKillPlan, type StoreKillPlan } from './kill-plan.ts';
import type { Line } from './line.ts';
import { openTidemark } from './open-tidemark.ts';
import { type Problem, problemAbout } from './problem.ts';
import { type Settlement, StoreModel } from './store-model.ts';

export interface CrashOptions {
  readonly rounds: number;
  readonly seed: number;
  /** An empty or missing folder. */
  readonly folder: string;
  /** Plants a bug: the worker acknowledges what it has not done. */
  readonly acknowledgesEarly?: boolean;
  readonly onRound?: (report: RoundReport) => void;
}

export interface RoundReport {
  /** Counted from 1. */
  readonly round: number;
  readonly plan: StoreKillPlan;
  readonly acknowledged: number;
  readonly settlement: Settlement;
  readonly problems: readonly Problem[];
  readonly tookMs: number;
}

const NOTHING_SETTLED: Settlement = { applied: 0, notApplied: 0, neither: 0 };

/**
 * Kills a working server again and again and checks its store each time. All rounds use the same folder, except those
 * that test a new one. Ends early at the first round with a problem.
 */
export async function runCrashes(options: CrashOptions): Promise<readonly RoundReport[]> {
  const model = new StoreModel();
  const reports: RoundReport[] = [];
  for (let round = 1; round <= options.rounds; round++) {
    const report = await runRound(options, model, round);
    reports.push(report);
    options.onRound?.(report);
    if (report.problems.length > 0) break;
  }
  return reports;
}

/** Returns the command that repeats a run. The moments of kills vary, so it may need more rounds. */
export function replayCommand({ rounds, seed }: Pick<CrashOptions, 'rounds' | 'seed'>): string {
  return `npm run sim -- crash --rounds ${rounds} --seed ${seed}`;
}

async function runRound(options: CrashOptions, ownModel: StoreModel, round: number): Promise<RoundReport> {
  const startedMs = performance.now();
  const rng = new Rng(seededRandom(options.seed * 1_000_003 + round));
  const plan = drawKillPlan(rng, round - 1);
  const isNewFolder = plan.kind === 'new_folder';
  const folder = join(options.folder, isNewFolder ? `new-${round}` : 'store');
  const model = isNewFolder ? new StoreModel() : ownModel;
  const { lines } = await runWorker<Line>({
    program: 'crash/store/worker.js',
    options: { folder, ...workerOptions(options, model, plan, rng) },
    kill: plan,
  });
  const file = join(options.folder, `round-${round}.jsonl`);
  const { settlement, problems } = await checkRound(model, lines, folder, rng).catch((error: unknown) => {
    keepLines(file, lines);
    throw error;
  });
  if (problems.length > 0) keepLines(file, lines);
  else if (isNewFolder) rmSync(folder, { recursive: true, force: true });
  const acknowledged = lines.filter(({ say }) => say === 'done').length;
  return { round, plan, acknowledged, settlement, problems, tookMs: performance.now() - startedMs };
}

function workerOptions({ acknowledgesEarly = false }: CrashOptions, model: StoreModel, plan: StoreKillPlan, rng: Rng) {
  const { batchPercent } = plan;
  const seed = rng.below(2 ** 31);
  return { seed, batchPercent, knownKeys: model.knownKeys(), tokens: model.tokens(), acknowledgesEarly };
}

async function checkRound(model: StoreModel, lines: readonly Line[], folder: string, rng: Rng): Promise<Check> {
  for (const line of lines) model.add(line);
  const tidemark = await reopen(folder);
  if ('rule' in tidemark) return { settlement: NOTHING_SETTLED, problems: [tidemark] };
  try {
    return await checkStore(tidemark, model, rng);
  } finally {
    await tidemark.store.close();
  }
}

async function reopen(folder: string): Promise<Tidemark | Problem> {
  try {
    return await openTidemark(folder);
  } catch (error) {
    return problemAbout('CRASH-7', 'the folder cannot be opened', [String(error)]);
  }
}

function keepLines(file: string, lines: readonly Line[]): void {
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

const ROUNDS_DEFAULT = 100;

export const crashStoreCommand: Command = {
  name: 'crash',
  summary: 'SIGKILL at random moments of a server on the embedded store; then the whole store is checked.',
  options: [
    { name: 'rounds', value: 'N', help: `how often the server is killed (default ${ROUNDS_DEFAULT})` },
    { name: 'seed', value: 'S', help: 'the seed of the run (default: random)' },
    { name: 'folder', value: 'F', help: 'an empty or missing folder for the store (default: a temporary one)' },
  ],
  run: async (options) => {
    const rounds = options.number('rounds', 1) ?? ROUNDS_DEFAULT;
    const seed = options.number('seed') ?? Date.now() % 1_000_000;
    const given = options.text('folder');
    const temporary = given === undefined ? await temporaryFolder() : null;
    const folder = temporary?.path ?? given ?? '';
    mkdirSync(folder, { recursive: true });
    if (readdirSync(folder).length > 0) throw new UsageError(`--folder: ${folder} is not empty`);
    if (!(await isSound({ rounds, seed, folder }))) return 1;
    await temporary?.remove();
    return 0;
  },
};

/** Runs the crashes and prints the problems. Returns true when there are none. */
async function isSound(options: CrashOptions): Promise<boolean> {
  const { rounds, seed, folder } = options;
  process.stderr.write(`seed ${seed}, ${rounds} rounds in ${folder}\n`);
  const problems = await runCrashes({ ...options, onRound: print }).then(
    (reports) => reports.flatMap((report) => report.problems).map(({ rule, detail }) => `[${rule}] ${detail}`),
    (error: unknown) => [error instanceof Error ? (error.stack ?? error.message) : String(error)],
  );
  if (problems.length === 0) return true;
  const lines = [`seed ${seed} failed; the folder was kept: ${folder}`, ...problems];
  process.stdout.write(`${lines.join('\n')}\nreplay: ${replayCommand({ rounds, seed })}\n`);
  return false;
}

function print({ round, plan, acknowledged, settlement, problems, tookMs }: RoundReport): void {
  const { applied, notApplied, neither } = settlement;
  const kill = `${plan.kind} ${plan.count} + ${plan.delayMs} ms`;
  const running = `${applied + notApplied + neither} running (${applied} applied, ${notApplied} not)`;
  const verdict = problems.length === 0 ? 'sound' : 'BROKEN';
  process.stderr.write(
    `round ${round}: ${kill}: ${acknowledged} acknowledged, ${running}: ${verdict}, ${Math.round(tookMs)} ms\n`,
  );
}
