import {
  JOB_ATTEMPTS_MAX,
  JOB_LEASE_MS_MAX,
  JOB_ORDER_UNITS_MAX,
  JOB_PAYLOAD_UNITS_MAX,
  JOB_REASON_UNITS_MAX,
  JOBS_LEASED_PER_CALL_MAX,
  JOBS_PER_CALL_MAX,
  LIST_MAX,
  nameProblem,
} from '@tidemark/protocol';

/**
 * Durable job queues. A job runs at least once, also after a crash, so handlers must be idempotent.
 *
 * Every engine guarantees:
 * - When the promise of a call resolves, its effect is as durable as the engine's store, and every later call sees it.
 * - A job is leased to one holder at a time, identified by the id of the lease. After the lease has expired, calls of the
 *   old holder have no effect, even if nobody else has leased the job yet.
 * - Due jobs of a queue are leased in the order of their due times, and with equal times in the order of enqueueing.
 * - Jobs of one queue with the same `order` run one after another, in the order of enqueueing: the first of them must be
 *   done or dead before the next one is leased. They do not delay other jobs.
 * - Every lease counts as an attempt, also when its holder died, so that a job that crashes its process is not retried for
 *   ever. A job without attempts left is dead when its lease ends without an acknowledgement.
 */
export interface Jobs {
  enqueue(queue: string, job: NewJob): Promise<string>;
  /** Enqueues all jobs or none, and returns their ids in the given order. Throws `queue_full` when the queue has no room. */
  enqueueAll(queue: string, jobs: readonly NewJob[]): Promise<readonly string[]>;

  /** Leases the next due job for `leaseMs`. When the lease expires, the job is due again. */
  lease(queue: string, leaseMs: number): Promise<LeasedJob | null>;
  /**
   * Leases up to `jobsMax` jobs in one step, in the order of `lease`. Returns fewer, but at least one, when their payloads
   * exceed `LEASED_UNITS`, so that a worker holds at most that much and one payload.
   */
  leaseMany(queue: string, leaseMs: number, jobsMax: number): Promise<readonly LeasedJob[]>;

  // Calls of the holder of a lease. They return false or `lease_lost` when the lease has expired.

  /** Extends the lease to `leaseMs` from now. */
  renew(job: LeasedJob, leaseMs: number): Promise<boolean>;
  /** Deletes the job, because it is done. */
  acknowledge(job: LeasedJob): Promise<boolean>;
  /** Acknowledges several jobs of one queue in one step. Returns a result for each, in the given order. */
  acknowledgeAll(queue: string, jobs: readonly LeasedJob[]): Promise<readonly boolean[]>;
  /** Makes the job due again at `atMs`, or dead when it has no attempts left. */
  retry(job: LeasedJob, atMs: number, reason: string): Promise<'retrying' | 'dead' | 'lease_lost'>;
  /** Makes the job dead at once, when another attempt would not help. */
  bury(job: LeasedJob, reason: string): Promise<boolean>;
  /** Ends the lease as if it had never been taken: the attempt is not counted. With `later` the job is due then. */
  giveBack(job: LeasedJob, later?: Postponement): Promise<boolean>;

  // Calls of operators

  /** Stops leasing jobs of the queue, also after restarts, until `resume`. Existing leases go on. */
  pause(queue: string): Promise<void>;
  resume(queue: string): Promise<void>;
  /** Makes a dead job due again, with all its attempts, ahead of waiting jobs with the same `order`. */
  revive(queue: string, id: string): Promise<boolean>;
  /** Deletes a job that is not leased. */
  remove(queue: string, id: string): Promise<boolean>;

  // Queries

  /** Lists jobs in a state: due and delayed ones in the order of leasing, leased ones by expiry, dead ones by time of death. */
  inspect(queue: string, state: JobState, list: { readonly after?: string; readonly limit: number }): Promise<JobPage>;
  find(queue: string, id: string): Promise<JobView | null>;
  describe(queue: string): Promise<QueueView>;
  /** Returns the names of all queues that have jobs or are paused, sorted. */
  queues(): Promise<readonly string[]>;
  /**
   * Calls back when this process may have made a job of the queue due, so that a worker need not wait for its next poll.
   * Jobs that become due by time or by another process cause no call. Returns the unsubscribe function.
   */
  watch(queue: string, onChange: () => void): () => void;
}

/** `waiting`: an earlier job with the same `order` is not done. */
export type JobState = 'due' | 'delayed' | 'waiting' | 'leased' | 'dead';

export const JOB_STATES: readonly JobState[] = ['due', 'delayed', 'waiting', 'leased', 'dead'];

export interface NewJob {
  /** Selects the handler. */
  readonly kind: string;
  /** Must not contain secrets; the handler looks them up. */
  readonly payload: string;
  readonly attemptsMax: number;
  readonly order?: string;
  /** Absent: the job is due now. */
  readonly dueAtMs?: number;
}

export interface LeasedJob {
  readonly id: string;
  readonly queue: string;
  readonly kind: string;
  readonly payload: string;
  /** 1 for the first. */
  readonly attempt: number;
  readonly attemptsMax: number;
  /** The unique id of the lease. */
  readonly lease: string;
}

/** When a job is due again, and what it waits for. */
export interface Postponement {
  readonly atMs: number;
  readonly reason: string;
}

export interface JobView {
  readonly id: string;
  readonly kind: string;
  readonly state: JobState;
  readonly order: string | null;
  /** The number of leases so far, without those that were given back. */
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly enqueuedAtMs: number;
  readonly dueAtMs: number;
  readonly lastReason: string | null;
}

export interface JobPage {
  readonly jobs: readonly JobView[];
  /** The `after` of the next page; null: this is the last page. It stays valid when jobs are added or removed. */
  readonly next: string | null;
}

export interface QueueView {
  readonly queue: string;
  readonly isPaused: boolean;
  readonly counts: Readonly<Record<JobState, number>>;
  /** How long the oldest due job has been due; 0: no job is due. */
  readonly lagMs: number;
}

/**
 * Runs the job, or rejects. The signal is aborted when the lease is lost, so that the handler can stop early. It is created
 * on demand.
 */
export type JobHandler = (job: LeasedJob, signal: () => AbortSignal) => Promise<void>;

/** Thrown by a handler to control retries. After any other error, the job is retried with back-off. */
export class JobFailure extends Error {
  override readonly name = 'JobFailure';
  /** The shortest wait before the next attempt; null: the back-off decides. */
  readonly retryAfterMs: number | null;
  /** False: nothing has failed, so the next attempt comes after `retryAfterMs`, and this one is not counted. */
  readonly backsOff: boolean;
  /** True: the job is not retried. */
  readonly isFinal: boolean;
  /** True: the failure is already logged. */
  readonly isLogged: boolean;

  constructor(reason: string, how: Partial<Omit<JobFailure, keyof Error>> = {}) {
    super(reason);
    this.retryAfterMs = how.retryAfterMs ?? null;
    this.backsOff = how.backsOff ?? true;
    this.isFinal = how.isFinal ?? false;
    this.isLogged = how.isLogged ?? false;
  }
}

/** The total size of the payloads that `leaseMany` returns, without the last one. */
export const LEASED_UNITS = 1_000_000;

/** The stored reason when the lease of the last attempt expires. */
export const LEASE_RAN_OUT = 'the lease ran out';

// The checks of arguments that all engines share. Each returns an error message, or null.

export function enqueueProblem(queue: string, jobs: readonly NewJob[]): string | null {
  if (jobs.length > JOBS_PER_CALL_MAX) return `${jobs.length} jobs are more than the ${JOBS_PER_CALL_MAX} of one call`;
  const flaw = queueProblem(queue);
  if (flaw !== null) return flaw;
  for (const job of jobs) {
    const problem = jobProblem(job);
    if (problem !== null) return problem;
  }
  return null;
}

export function queueProblem(queue: string): string | null {
  const flaw = nameProblem('source', queue);
  return flaw === null ? null : `the name of the queue ${flaw}`;
}

function jobProblem({ kind, payload, attemptsMax, order, dueAtMs = 0 }: NewJob): string | null {
  if (nameProblem('source', kind) !== null) return 'the kind of a job must be a name';
  if (!payload.isWellFormed()) return 'a payload must be well-formed Unicode';
  if (payload.length > JOB_PAYLOAD_UNITS_MAX) return `a payload is longer than ${JOB_PAYLOAD_UNITS_MAX} characters`;
  if (!Number.isInteger(attemptsMax) || attemptsMax < 1 || attemptsMax > JOB_ATTEMPTS_MAX) {
    return `attemptsMax must be a whole number from 1 to ${JOB_ATTEMPTS_MAX}`;
  }
  if (order !== undefined && (!order.isWellFormed() || order.length > JOB_ORDER_UNITS_MAX)) {
    return `an order must be well-formed Unicode of at most ${JOB_ORDER_UNITS_MAX} characters`;
  }
  return timeProblem(dueAtMs);
}

/** The latest due time of a job: engines store times in 48 bits. */
const TIME_MS_MAX = 2 ** 47;

export function timeProblem(atMs: number): string | null {
  return Number.isInteger(atMs) && atMs >= 0 && atMs <= TIME_MS_MAX ? null : `${atMs} is not a valid due time`;
}

export function leaseProblem(leaseMs: number): string | null {
  const isAllowed = Number.isInteger(leaseMs) && leaseMs >= 1 && leaseMs <= JOB_LEASE_MS_MAX;
  return isAllowed ? null : `a lease must be a whole number of milliseconds from 1 to ${JOB_LEASE_MS_MAX}`;
}

export function leaseManyProblem(queue: string, leaseMs: number, jobsMax: number): string | null {
  return queueProblem(queue) ?? leaseProblem(leaseMs) ?? countProblem('jobsMax', jobsMax, 1);
}

export function acknowledgeAllProblem(queue: string, jobs: readonly LeasedJob[]): string | null {
  if (jobs.some((job) => job.queue !== queue)) return 'jobs of another queue cannot be acknowledged with these';
  return queueProblem(queue) ?? countProblem('the number of jobs', jobs.length, 0);
}

function countProblem(name: string, count: number, least: number): string | null {
  const isAllowed = Number.isInteger(count) && count >= least && count <= JOBS_LEASED_PER_CALL_MAX;
  return isAllowed ? null : `${name} must be a whole number from ${least} to ${JOBS_LEASED_PER_CALL_MAX}`;
}

export function listProblem(limit: number): string | null {
  const isAllowed = Number.isInteger(limit) && limit >= 1 && limit <= LIST_MAX;
  return isAllowed ? null : `limit must be a whole number from 1 to ${LIST_MAX}`;
}

/** Returns the reason as it is stored. `toWellFormed` repairs a surrogate pair that was cut in two. */
export function keptReason(reason: string): string {
  return reason.slice(0, JOB_REASON_UNITS_MAX).toWellFormed();
}
