import { LEASED_UNITS, type LeasedJob, type NewJob } from '@tidemark/core/ports';
import { nextNumbers } from '../facts.ts';
import type { Tables } from '../tables.ts';
import type { JobsCall, JobsTask } from './jobs-task.ts';
import { type KeptJob, numberOf } from './kept-job.ts';
import { QueueDesk } from './queue-desk.ts';

/** Runs in the writer's transaction and answers each call. Leases that have run out end first, so that everything else sees what is true now. */
export function applyJobs(tables: Tables, task: JobsTask): readonly unknown[] {
  const desk = new QueueDesk(tables, task.queue, task.nowMs, task.bounds);
  desk.sweep();
  const results = task.calls.map((call) => perform(tables, desk, task, call));
  desk.close();
  return results;
}

function perform(tables: Tables, desk: QueueDesk, { queue, nowMs }: JobsTask, call: JobsCall): unknown {
  switch (call.do) {
    case 'enqueue':
      return enqueue(tables, desk, call.jobs);
    case 'lease':
      return leaseMany(tables, desk, queue, call);
    case 'done':
      return call.ids.map((id, index) => acknowledge(desk, nowMs, id, call.leases[index] ?? ''));
    case 'settle':
      return settle(desk, nowMs, call);
    case 'revive':
    case 'remove':
      return call.do === 'revive' ? revive(desk, call.id) : remove(desk, call.id);
    case 'pause':
      desk.isPaused = call.isPaused;
      return null;
    case 'sweep':
      return null;
  }
}

/** The ids, or null when the queue has no room for all of them. */
function enqueue(tables: Tables, desk: QueueDesk, jobs: readonly NewJob[]): readonly string[] | null {
  if (!desk.hasRoomFor(jobs.length)) return null;
  const first = nextNumbers(tables, 'job', jobs.length);
  for (const [index, job] of jobs.entries()) desk.add(first + index, job);
  return jobs.map((_, index) => String(first + index));
}

function leaseMany(
  tables: Tables,
  desk: QueueDesk,
  queue: string,
  { leaseMs, jobsMax }: Extract<JobsCall, { readonly do: 'lease' }>,
): readonly LeasedJob[] {
  const numbers = desk.isPaused ? [] : desk.due(jobsMax);
  const leased: LeasedJob[] = [];
  if (numbers.length === 0) return leased;
  let word = nextNumbers(tables, 'lease', numbers.length);
  let units = 0;
  for (const number of numbers) {
    const job = desk.read(number);
    if (job === null || units > LEASED_UNITS) break;
    const { kind, attempt, attemptsMax } = desk.lease(number, job, word, leaseMs);
    const payload = desk.payloadOf(number);
    units += payload.length;
    leased.push({ id: String(number), queue, kind, payload, attempt, attemptsMax, lease: String(word++) });
  }
  return leased;
}

function acknowledge(desk: QueueDesk, nowMs: number, id: string, lease: string): boolean {
  return settle(desk, nowMs, { do: 'settle', id, lease, verdict: DONE }) === 'settled';
}

const DONE = { say: 'done' } as const;

function settle(
  desk: QueueDesk,
  nowMs: number,
  { id, lease, verdict }: Extract<JobsCall, { readonly do: 'settle' }>,
): 'settled' | 'dead' | 'lease_lost' {
  const number = numberOf(id);
  const job = desk.read(number);
  if (number === null || job === null || !isHeldBy(job, lease, nowMs)) return 'lease_lost';
  switch (verdict.say) {
    case 'done':
      desk.forget(number, job);
      return 'settled';
    case 'give_back':
      desk.giveBack(number, job);
      return 'settled';
    case 'renew':
      desk.renew(number, job, verdict.leaseMs);
      return 'settled';
    case 'bury':
      desk.bury(number, job, verdict.reason);
      return 'dead';
    case 'retry':
      return retry(desk, number, job, verdict);
  }
}

function isHeldBy(job: KeptJob, lease: string, nowMs: number): boolean {
  return job.standing === 'leased' && String(job.lease) === lease && job.atMs > nowMs;
}

function retry(
  desk: QueueDesk,
  number: number,
  job: KeptJob,
  { atMs, reason }: { readonly atMs: number; readonly reason: string },
): 'settled' | 'dead' {
  if (job.attempt >= job.attemptsMax) {
    desk.bury(number, job, reason);
    return 'dead';
  }
  desk.postpone(number, job, atMs, reason);
  return 'settled';
}

function revive(desk: QueueDesk, id: string): boolean {
  const number = numberOf(id);
  const job = desk.read(number);
  if (number === null || job === null || job.standing !== 'dead') return false;
  desk.revive(number, job);
  return true;
}

function remove(desk: QueueDesk, id: string): boolean {
  const number = numberOf(id);
  const job = desk.read(number);
  if (number === null || job === null || job.standing === 'leased') return false;
  desk.forget(number, job);
  return true;
}
