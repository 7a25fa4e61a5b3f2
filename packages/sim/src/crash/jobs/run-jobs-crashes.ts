import { join } from 'node:path';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { Dice, seededRandom } from '@tidemark/testing/kit';
import { JobsHistory } from './jobs-history.ts';
import { QUEUE } from './line.ts';
import { runWorker } from './run-worker.ts';

export interface JobsCrashOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Everything happens in it. */
  readonly folder: string;
  /** For the canary: the worker confirms what it has not done. */
  readonly isLiar?: boolean;
}

/** Later than the end of every lease a killed worker can have left. */
const LATER_MS = 3_600_000;

/**
 * Kills a process that enqueues and runs jobs again and again, in one folder, and looks whether everything adds up.
 * Ends early at the first round with a problem.
 */
export async function runJobsCrashes(options: JobsCrashOptions): Promise<JobsHistory> {
  const { rounds, seed, isLiar = false } = options;
  const history = new JobsHistory();
  const folder = join(options.folder, 'store');
  const dice = new Dice(seededRandom(seed));
  for (let round = 1; round <= rounds && history.problems.length === 0; round++) {
    const orders = { folder, seed: dice.below(1_000_000), next: history.next(), isLiar };
    const plan = { lines: dice.between(2, 300), delayMs: dice.between(0, 12) };
    for (const line of await runWorker(orders, plan)) history.hear(line);
    for (const finding of await unsoundness(folder)) history.problems.push(`round ${round}: ${finding}`);
  }
  history.close(await whatIsLeft(folder));
  return history;
}

async function unsoundness(folder: string): Promise<readonly string[]> {
  const store = await openEmbeddedStore({ folder });
  const found: string[] = [];
  // There are no records of objects in this store, so nobody has to read any.
  for await (const { problem, detail } of store.verify(() => ({ id: '', checksum: 0 })))
    found.push(`${problem} ${detail}`);
  await store.close();
  return found;
}

/** Works everything off, after all leases have run out; the names, in the order in which they came. */
async function whatIsLeft(folder: string): Promise<readonly string[]> {
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
