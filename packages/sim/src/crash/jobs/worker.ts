import type { Jobs, LeasedJob } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { Rng, seededRandom } from '@tidemark/testing/kit';
import { runAsWorker, writeLine } from '../../processes/worker.ts';
import { ATTEMPTS_MAX, LEASE_MS, type Line, nameOf, ORDERS, QUEUE, type WorkerOptions } from './line.ts';

/** The process that is killed. It enqueues and runs jobs, and reports that, until it is killed. */
const LIFE_MS = 600_000;
const CONSUMERS = 3;
const BATCH_MAX = 5;
/** Enough to keep the consumers busy; more would only make the final check longer. */
const JOBS_WAITING_MAX = 60;

function report(line: Line): void {
  writeLine(line);
}

/** Reports `before`, performs the step and reports `after`; with the planted bug, reports both first. */
async function announced<T>(before: Line, after: Line, confirmsEarly: boolean, act: () => Promise<T>): Promise<T> {
  report(before);
  if (confirmsEarly) report(after);
  const result = await act();
  if (!confirmsEarly && result !== false) report(after);
  return result;
}

async function produce(jobs: Jobs, options: WorkerOptions, which: number): Promise<never> {
  const rng = new Rng(seededRandom(options.seed * 100 + which));
  const order = ORDERS[which] ?? 'none';
  let next = options.next[which] ?? 0;
  for (;;) {
    const { due, waiting } = (await jobs.describe(QUEUE)).counts;
    if (due + waiting > JOBS_WAITING_MAX) {
      await new Promise((resolve) => setImmediate(resolve));
      continue;
    }
    const first = next;
    const names = Array.from({ length: rng.between(1, BATCH_MAX) }, (_, index) => nameOf(order, first + index));
    next += names.length;
    const batch = names.map((payload) => ({ kind: 'work', payload, attemptsMax: ATTEMPTS_MAX, order }));
    await announced({ say: 'enqueue', names }, { say: 'enqueued', names }, options.confirmsEarly, () =>
      jobs.enqueueAll(QUEUE, batch),
    );
  }
}

async function consume(jobs: Jobs, options: WorkerOptions, which: number): Promise<never> {
  const rng = new Rng(seededRandom(options.seed * 100 + 50 + which));
  for (;;) {
    const leasedAtMs = Date.now();
    const held = rng.chance(50)
      ? await leaseOne(jobs)
      : await jobs.leaseMany(QUEUE, LEASE_MS, rng.between(1, BATCH_MAX));
    if (held.length === 0) {
      await new Promise((resolve) => setImmediate(resolve));
      continue;
    }
    // On a slow machine the lease may have ended: then another consumer may have run the job already.
    const isLeased = () => Date.now() < leasedAtMs + LEASE_MS;
    if (rng.chance(50) && isLeased()) await runAll(jobs, held, options.confirmsEarly);
    else await runEach(held, isLeased, (job) => run(jobs, job, options.confirmsEarly, rng));
  }
}

async function leaseOne(jobs: Jobs): Promise<readonly LeasedJob[]> {
  const job = await jobs.lease(QUEUE, LEASE_MS);
  return job === null ? [] : [job];
}

async function runEach(
  held: readonly LeasedJob[],
  isLeased: () => boolean,
  work: (job: LeasedJob) => Promise<void>,
): Promise<void> {
  for (const job of held) if (isLeased()) await work(job);
}

/** Acknowledges all jobs in one call. */
async function runAll(jobs: Jobs, held: readonly LeasedJob[], confirmsEarly: boolean): Promise<void> {
  for (const { payload: name } of held) report({ say: 'run', name });
  for (const { payload: name } of held) report({ say: 'ack', name });
  if (confirmsEarly) for (const { payload: name } of held) report({ say: 'acked', name });
  const counted = await jobs.acknowledgeAll(QUEUE, held);
  if (confirmsEarly) return;
  for (const [index, { payload: name }] of held.entries()) if (counted[index] === true) report({ say: 'acked', name });
}

async function run(jobs: Jobs, job: LeasedJob, confirmsEarly: boolean, rng: Rng): Promise<void> {
  const name = job.payload;
  report({ say: 'run', name });
  const roll = rng.below(100);
  if (roll < 5) return;
  if (roll < 15) return void (await jobs.retry(job, Date.now(), 'again'));
  if (roll < 25) return void (await jobs.giveBack(job));
  await announced({ say: 'ack', name }, { say: 'acked', name }, confirmsEarly, () => jobs.acknowledge(job));
}

async function work(options: WorkerOptions): Promise<void> {
  const store = await openEmbeddedStore({ folder: options.folder });
  const jobs = store.jobs({ clock: { nowMs: () => Date.now() } });
  report({ say: 'open' });
  const consumers = Array.from({ length: CONSUMERS }, (_, which) => consume(jobs, options, which));
  await Promise.all([...ORDERS.map((_, which) => produce(jobs, options, which)), ...consumers]);
}

await runAsWorker(LIFE_MS, work);
