import { mkdirSync, readdirSync } from 'node:fs';
import { temporaryFolder } from '@tidemark/testing/kit';
import { type Command, UsageError } from '../../runner/command.ts';
import { type CrashOptions, type RoundReport, replayCommand, runCrashes } from './run-crashes.ts';

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
