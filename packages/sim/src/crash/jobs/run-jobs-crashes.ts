import { join } from 'node:path';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { Rng, seededRandom, temporaryFolder } from '@tidemark/testing/kit';
import { runWorker } from '../../processes/run-worker.ts';
import type { Command } from '../../runner/command.ts';
import { JobsHistory } from './jobs-history.ts';
import { type Line, QUEUE } from './line.ts';

export interface JobsCrashOptions {
  readonly rounds: number;
  readonly seed: number;
  readonly folder: string;
  /** Plants a bug: the worker confirms what it has not done. */
  readonly confirmsEarly?: boolean;
}

/** Later than the end of every lease that a killed worker can have left. */
const LATER_MS = 3_600_000;

/**
 * Kills a process that enqueues and runs jobs again and again, on one store, and checks its lines and the store. Ends
 * early at the first round with a problem.
 */
export async function runJobsCrashes(options: JobsCrashOptions): Promise<JobsHistory> {
  const { rounds, seed, confirmsEarly = false } = options;
  const history = new JobsHistory();
  const folder = join(options.folder, 'store');
  const rng = new Rng(seededRandom(seed));
  for (let round = 1; round <= rounds && history.problems.length === 0; round++) {
    const { lines } = await runWorker<Line>({
      program: 'crash/jobs/worker.js',
      options: { folder, seed: rng.below(1_000_000), next: history.next(), confirmsEarly },
      kill: { isCounted: () => true, count: rng.between(2, 300), delayMs: rng.between(0, 12) },
    });
    for (const line of lines) history.add(line);
    for (const finding of await findingsIn(folder)) history.problems.push(`round ${round}: ${finding}`);
  }
  history.finish(await runRemainingJobs(folder));
  return history;
}

async function findingsIn(folder: string): Promise<readonly string[]> {
  const store = await openEmbeddedStore({ folder });
  const found: string[] = [];
  // There are no objects in this store, so no record is ever parsed.
  for await (const { problem, detail } of store.verify(() => ({ id: '', checksum: 0 })))
    found.push(`${problem} ${detail}`);
  await store.close();
  return found;
}

/** Runs all jobs after every lease has ended. Returns their names in the order in which they were leased. */
async function runRemainingJobs(folder: string): Promise<readonly string[]> {
  const store = await openEmbeddedStore({ folder });
  const nowMs = Date.now() + LATER_MS;
  const jobs = store.jobs({ clock: { nowMs: () => nowMs } });
  const names: string[] = [];
  for (let job = await jobs.lease(QUEUE, 1_000); job !== null; job = await jobs.lease(QUEUE, 1_000)) {
    names.push(job.payload);
    await jobs.acknowledge(job);
  }
  await store.close();
  return names;
}

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
