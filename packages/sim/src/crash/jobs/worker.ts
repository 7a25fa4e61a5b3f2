import type { Jobs, LeasedJob } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { Dice, seededRandom } from '@tidemark/testing/kit';
import { say } from '../say.ts';
import { startWatchdog } from '../watchdog.ts';
import { ATTEMPTS_MAX, LEASE_MS, type Line, nameOf, ORDERS, QUEUE, type WorkerOrders } from './line.ts';

/** The process that is killed. It enqueues and runs jobs and says so, until somebody ends it. */
const LIFE_MS = 600_000;
const CONSUMERS = 3;
const BATCH_MAX = 5;
/** Enough to keep the consumers busy; more would only make the end longer. */
const JOBS_WAITING_MAX = 60;

function tell(line: Line): void {
  say(line);
}

/** Says the first, does the thing, says the second; a liar says both before it has done anything. */
async function announced<T>(before: Line, after: Line, isLiar: boolean, act: () => Promise<T>): Promise<T> {
  tell(before);
  if (isLiar) tell(after);
  const result = await act();
  if (!isLiar && result !== false) tell(after);
  return result;
}

async function produce(jobs: Jobs, orders: WorkerOrders, which: number): Promise<never> {
  const dice = new Dice(seededRandom(orders.seed * 100 + which));
  const order = ORDERS[which] ?? 'none';
  let next = orders.next[which] ?? 0;
  for (;;) {
    const { due, waiting } = (await jobs.describe(QUEUE)).counts;
    if (due + waiting > JOBS_WAITING_MAX) {
      await new Promise((resolve) => setImmediate(resolve));
      continue;
    }
    const first = next;
    const names = Array.from({ length: dice.between(1, BATCH_MAX) }, (_, index) => nameOf(order, first + index));
    next += names.length;
    const batch = names.map((payload) => ({ kind: 'work', payload, attemptsMax: ATTEMPTS_MAX, order }));
    await announced({ say: 'enqueue', names }, { say: 'enqueued', names }, orders.isLiar, () =>
      jobs.enqueueAll(QUEUE, batch),
    );
  }
}

async function consume(jobs: Jobs, orders: WorkerOrders, which: number): Promise<never> {
  const dice = new Dice(seededRandom(orders.seed * 100 + 50 + which));
  for (;;) {
    const held = dice.chance(50)
      ? await leaseOne(jobs)
      : await jobs.leaseMany(QUEUE, LEASE_MS, dice.between(1, BATCH_MAX));
    if (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    else if (dice.chance(50)) await runAll(jobs, held, orders.isLiar);
    else for (const job of held) await run(jobs, job, orders.isLiar, dice);
  }
}

async function leaseOne(jobs: Jobs): Promise<readonly LeasedJob[]> {
  const job = await jobs.lease(QUEUE, LEASE_MS);
  return job === null ? [] : [job];
}

/** Acknowledges many in one step. */
async function runAll(jobs: Jobs, held: readonly LeasedJob[], isLiar: boolean): Promise<void> {
  for (const { payload: name } of held) tell({ say: 'run', name });
  for (const { payload: name } of held) tell({ say: 'ack', name });
  if (isLiar) for (const { payload: name } of held) tell({ say: 'acked', name });
  const counted = await jobs.acknowledgeAll(QUEUE, held);
  if (isLiar) return;
  for (const [index, { payload: name }] of held.entries()) if (counted[index] === true) tell({ say: 'acked', name });
}

async function run(jobs: Jobs, job: LeasedJob, isLiar: boolean, dice: Dice): Promise<void> {
  const name = job.payload;
  tell({ say: 'run', name });
  const roll = dice.below(100);
  if (roll < 5) return;
  if (roll < 15) return void (await jobs.retry(job, Date.now(), 'again'));
  if (roll < 25) return void (await jobs.giveBack(job));
  await announced({ say: 'ack', name }, { say: 'acked', name }, isLiar, () => jobs.acknowledge(job));
}

async function work(orders: WorkerOrders): Promise<void> {
  startWatchdog(LIFE_MS);
  const store = await openEmbeddedStore({ folder: orders.folder });
  const jobs = store.jobs({ clock: { nowMs: () => Date.now() } });
  tell({ say: 'open' });
  const consumers = Array.from({ length: CONSUMERS }, (_, which) => consume(jobs, orders, which));
  await Promise.all([...ORDERS.map((_, which) => produce(jobs, orders, which)), ...consumers]);
}

try {
  await work(JSON.parse(process.argv[2] ?? '') as WorkerOrders);
} catch (error) {
  tell({ say: 'failed', reason: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  process.exit(1);
}
