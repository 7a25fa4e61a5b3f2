import { temporaryFolder } from '@tidemark/testing/kit';
import type { Command } from '../../runner/command.ts';
import { runJobsCrashes } from './run-jobs-crashes.ts';

const ROUNDS_DEFAULT = 100;

export const crashJobsCommand: Command = {
  name: 'crash:jobs',
  summary: 'SIGKILL at random moments of a process that enqueues and runs jobs on the embedded store.',
  options: [
    { name: 'rounds', value: 'N', help: `how often the process is killed (default ${ROUNDS_DEFAULT})` },
    { name: 'seed', value: 'S', help: 'the seed of the run (default: random)' },
  ],
  run: async (options) => {
    const rounds = options.number('rounds', 1) ?? ROUNDS_DEFAULT;
    const seed = options.number('seed') ?? Date.now() % 1_000_000;
    const folder = await temporaryFolder();
    process.stderr.write(`seed ${seed}, ${rounds} rounds in ${folder.path}\n`);
    const history = await runJobsCrashes({ rounds, seed, folder: folder.path });
    await folder.remove();
    process.stdout.write(`${history.count('enqueued')} jobs, ${history.repeated} of them ran more than once\n`);
    for (const problem of history.problems) process.stdout.write(`${problem}\n`);
    return history.problems.length === 0 ? 0 : 1;
  },
};
