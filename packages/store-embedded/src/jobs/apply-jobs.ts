import { LEASED_UNITS, type LeasedJob, type NewJob } from '@tidemark/core/ports';
import { nextNumbers } from '../meta.ts';
import type { Tables } from '../tables.ts';
import { type JobRow, numberOf } from './job-rows.ts';
import type { JobsCall, JobsTask } from './jobs-task.ts';
import { QueueAdmin } from './queue-admin.ts';

/** Applies the calls of a task in the writer's transaction and returns their results. Expired leases end first. */
export function applyJobs(tables: Tables, task: JobsTask): readonly unknown[] {
  const admin = new QueueAdmin(tables, task.queue, task.nowMs, task.bounds);
  admin.sweep();
  const results = task.calls.map((call) => perform(tables, admin, task, call));
  admin.close();
  return results;
}

function perform(tables: Tables, admin: QueueAdmin, { queue, nowMs }: JobsTask, call: JobsCall): unknown {
  switch (call.do) {
    case 'enqueue':
      return enqueue(tables, admin, call.jobs);
    case 'lease':
      return leaseMany(tables, admin, queue, call);
    case 'done':
      return call.ids.map((id, index) => acknowledge(admin, nowMs, id, call.leases[index] ?? ''));
    case 'settle':
      return settle(admin, nowMs, call);
    case 'revive':
    case 'remove':
      return call.do === 'revive' ? revive(admin, call.id) : remove(admin, call.id);
    case 'pause':
    case 'resume':
      admin.isPaused = call.do === 'pause';
      return true;
    case 'sweep':
      return null;
  }
}

/** Returns the ids, or null when the queue has no room for all jobs. */
function enqueue(tables: Tables, admin: QueueAdmin, jobs: readonly NewJob[]): readonly string[] | null {
  if (!admin.hasRoomFor(jobs.length)) return null;
  const first = nextNumbers(tables, 'job', jobs.length);
  for (const [index, job] of jobs.entries()) admin.add(first + index, job);
  return jobs.map((_, index) => String(first + index));
}

function leaseMany(
  tables: Tables,
  admin: QueueAdmin,
  queue: string,
  { leaseMs, jobsMax }: Extract<JobsCall, { readonly do: 'lease' }>,
): readonly LeasedJob[] {
  const numbers = admin.isPaused ? [] : admin.due(jobsMax);
  const leased: LeasedJob[] = [];
  if (numbers.length === 0) return leased;
  let leaseNumber = nextNumbers(tables, 'lease', numbers.length);
  let units = 0;
  for (const number of numbers) {
    const job = admin.read(number);
    if (job === null || units > LEASED_UNITS) break;
    const { kind, attempt, attemptsMax } = admin.lease(number, job, leaseNumber, leaseMs);
    const payload = admin.payloadOf(number);
    units += payload.length;
    leased.push({ id: String(number), queue, kind, payload, attempt, attemptsMax, lease: String(leaseNumber++) });
  }
  return leased;
}

function acknowledge(admin: QueueAdmin, nowMs: number, id: string, lease: string): boolean {
  return settle(admin, nowMs, { do: 'settle', id, lease, action: DONE }) === 'settled';
}

const DONE = { do: 'done' } as const;

function settle(
  admin: QueueAdmin,
  nowMs: number,
  { id, lease, action }: Extract<JobsCall, { readonly do: 'settle' }>,
): 'settled' | 'dead' | 'lease_lost' {
  const number = numberOf(id);
  const job = admin.read(number);
  if (number === null || job === null || !isHeldBy(job, lease, nowMs)) return 'lease_lost';
  switch (action.do) {
    case 'done':
      admin.remove(number, job);
      return 'settled';
    case 'give_back':
      admin.giveBack(number, job, action.later);
      return 'settled';
    case 'renew':
      admin.renew(number, job, action.leaseMs);
      return 'settled';
    case 'bury':
      admin.bury(number, job, action.reason);
      return 'dead';
    case 'retry':
      return retry(admin, number, job, action);
  }
}

function isHeldBy(job: JobRow, lease: string, nowMs: number): boolean {
  return job.state === 'leased' && String(job.lease) === lease && job.atMs > nowMs;
}

function retry(
  admin: QueueAdmin,
  number: number,
  job: JobRow,
  { atMs, reason }: { readonly atMs: number; readonly reason: string },
): 'settled' | 'dead' {
  if (job.attempt >= job.attemptsMax) {
    admin.bury(number, job, reason);
    return 'dead';
  }
  admin.postpone(number, job, atMs, reason);
  return 'settled';
}

function revive(admin: QueueAdmin, id: string): boolean {
  const number = numberOf(id);
  const job = admin.read(number);
  if (number === null || job === null || job.state !== 'dead') return false;
  admin.revive(number, job);
  return true;
}

function remove(admin: QueueAdmin, id: string): boolean {
  const number = numberOf(id);
  const job = admin.read(number);
  if (number === null || job === null || job.state === 'leased') return false;
  admin.remove(number, job);
  return true;
}
