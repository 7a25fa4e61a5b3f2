import { mkdirSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { temporaryFolder } from '@tidemark/testing/kit';
import { type RoundReport, replayCommand, runCrashes } from './run-crashes.ts';

const USAGE = 'usage: npm run crash -- [--rounds N] [--seed S] [--folder F]   (F must be empty or not exist)\n';
const ROUNDS_DEFAULT = 100;
const EXIT_USAGE = 64;

interface Arguments {
  readonly rounds: number;
  readonly seed: number;
  readonly folder: string | undefined;
}

function readArguments(): Arguments | null {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({ options: { rounds: text, seed: text, folder: text } });
    const rounds = Number(values.rounds ?? ROUNDS_DEFAULT);
    const seed = Number(values.seed ?? Date.now() % 1_000_000);
    return Number.isInteger(rounds) && rounds > 0 && Number.isInteger(seed)
      ? { rounds, seed, folder: values.folder }
      : null;
  } catch {
    return null;
  }
}

function tell({ round, plan, acknowledged, settlement, problems, tookMs }: RoundReport): void {
  const { applied, notApplied, neither } = settlement;
  const kill = `${plan.kind} ${plan.count} + ${plan.delayMs} ms`;
  const underWay = `under way ${applied + notApplied + neither} (${applied} applied, ${notApplied} not)`;
  const verdict = problems.length === 0 ? 'sound' : 'BROKEN';
  process.stderr.write(
    `round ${round}: ${kill}: ${acknowledged} acknowledged, ${underWay}: ${verdict}, ${Math.round(tookMs)} ms\n`,
  );
}

/** Whether nothing was found. */
async function run({ rounds, seed }: Arguments, folder: string): Promise<boolean> {
  process.stderr.write(`seed ${seed}, ${rounds} rounds in ${folder}\n`);
  const reasons = await runCrashes({ rounds, seed, folder, onRound: tell }).then(
    (reports) => reports.flatMap(({ problems }) => problems).map(({ rule, detail }) => `[${rule}] ${detail}`),
    (error: unknown) => [error instanceof Error ? (error.stack ?? error.message) : String(error)],
  );
  if (reasons.length === 0) return true;
  const lines = [`seed ${seed} failed; the folder was kept: ${folder}`, ...reasons];
  process.stderr.write(`${lines.join('\n')}\nreplay: ${replayCommand({ rounds, seed })}\n`);
  return false;
}

/** The exit code. */
async function main(): Promise<number> {
  const given = readArguments();
  if (given === null) return explain();
  const own = given.folder === undefined ? await temporaryFolder() : null;
  const folder = own?.path ?? given.folder ?? '';
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0) return explain();
  if (!(await run(given, folder))) return 1;
  await own?.remove();
  return 0;
}

function explain(): number {
  process.stderr.write(USAGE);
  return EXIT_USAGE;
}

process.exitCode = await main();
