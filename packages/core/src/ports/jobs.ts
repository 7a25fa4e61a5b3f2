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
 * Work that outlives a request. A job runs at least once, whatever dies; whoever runs it twice must not do harm twice.
 *
 * What every engine promises:
 * - When a call's promise resolves, what it did is as durable as the engine's store, and every later call sees it.
 * - A job is leased to one holder at a time. The lease word proves the holder: once the lease has run out, nothing the
 *   old holder says counts any more, whether or not somebody else has the job by now.
 * - Due jobs of a queue are leased in the order of their due times, those of the same moment as they were enqueued.
 * - Jobs of one queue with the same `order` run one after the other, in the order they were enqueued: the first of them
 *   must be done or dead before the next one is leased. Those that wait cost the others nothing.
 * - Every lease uses up an attempt, also one whose holder died: a job that kills its process must not do so for ever.
 *   A job whose attempts are used up is set aside as dead when its lease ends without an acknowledgement.
 */
export interface Jobs {
  enqueue(queue: string, job: NewJob): Promise<string>;
  /** All of them or none; their ids, in the given order. Too many for the queue: refused with `queue_full`. */
  enqueueAll(queue: string, jobs: readonly NewJob[]): Promise<readonly string[]>;

  /** Takes the next due job for `leaseMs`; when the lease runs out unacknowledged, the job is due again. */
  lease(queue: string, leaseMs: number): Promise<LeasedJob | null>;
  /**
   * What so many calls of `lease` would take, in the same order, in one step. Fewer, but never none, when they carry more
   * than `LEASED_UNITS` together: nobody has to hold more than that and one payload.
   */
  leaseMany(queue: string, leaseMs: number, jobsMax: number): Promise<readonly LeasedJob[]>;

  // What the holder of a lease may say. False or `lease_lost`: the lease had run out, somebody else may have the job.

  /** The lease lasts `leaseMs` from now. */
  renew(job: LeasedJob, leaseMs: number): Promise<boolean>;
  /** The job is done and forgotten. */
  acknowledge(job: LeasedJob): Promise<boolean>;
  /** The same for many jobs of one queue in one step; of each, in the given order, whether it counted. */
  acknowledgeAll(queue: string, jobs: readonly LeasedJob[]): Promise<readonly boolean[]>;
  /** Due again at `atMs`, or set aside as dead when its attempts are used up. */
  retry(job: LeasedJob, atMs: number, reason: string): Promise<'retrying' | 'dead' | 'lease_lost'>;
  /** Set aside as dead at once: another attempt would not help. */
  bury(job: LeasedJob, reason: string): Promise<boolean>;
  /** Back to where it was, as if it had never been leased: the attempt is not counted. */
  giveBack(job: LeasedJob): Promise<boolean>;

  // What an operator may do

  /** From now on nothing is leased from the queue, across restarts, until it is resumed. Leases under way go on. */
  pause(queue: string): Promise<void>;
  resume(queue: string): Promise<void>;
  /** Makes a dead job due again, with all its attempts, before those of its order that still wait. */
  revive(queue: string, id: string): Promise<boolean>;
  /** Forgets a job that nobody has leased. */
  remove(queue: string, id: string): Promise<boolean>;

  // Looking

  /** Jobs in a state: due and delayed ones in the order of their leases, leased and dead ones by when that ends or began. */
  inspect(queue: string, state: JobState, list: { readonly after?: string; readonly limit: number }): Promise<JobPage>;
  find(queue: string, id: string): Promise<JobView | null>;
  describe(queue: string): Promise<QueueView>;
  /** Every queue that has jobs or is paused, sorted. */
  queues(): Promise<readonly string[]>;
  /**
   * Calls back when this process may have made a job of the queue due. It is a hint that spares a worker its next poll:
   * jobs that become due by time, or by another process, are not announced. Returns the unsubscribe function.
   */
  watch(queue: string, onChange: () => void): () => void;
}

/** `waiting`: its time may have come, but another job of the same order is before it. */
export type JobState = 'due' | 'delayed' | 'waiting' | 'leased' | 'dead';

export const JOB_STATES: readonly JobState[] = ['due', 'delayed', 'waiting', 'leased', 'dead'];

export interface NewJob {
  /** Which handler runs it. */
  readonly kind: string;
  /** Never a secret: whoever runs the job looks secrets up. */
  readonly payload: string;
  readonly attemptsMax: number;
  readonly order?: string;
  /** Absent: now. */
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
  /** Different for every lease there ever was. */
  readonly lease: string;
}

export interface JobView {
  readonly id: string;
  readonly kind: string;
  readonly state: JobState;
  readonly order: string | null;
  /** Leases so far that were not given back. */
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly enqueuedAtMs: number;
  readonly dueAtMs: number;
  readonly lastReason: string | null;
}

export interface JobPage {
  readonly jobs: readonly JobView[];
  /** What to give as `after` for the next page; null when there is none. It stays good when jobs come and go. */
  readonly next: string | null;
}

export interface QueueView {
  readonly queue: string;
  readonly isPaused: boolean;
  readonly counts: Readonly<Record<JobState, number>>;
  /** For how long the oldest due job has been due; 0 when none is. */
  readonly lagMs: number;
}

/**
 * Does the job, or rejects. The signal is aborted when the result no longer counts; the work may then be cut short. It is
 * made when it is asked for.
 */
export type JobHandler = (job: LeasedJob, signal: () => AbortSignal) => Promise<void>;

/** How a handler says in which way a job failed. Any other error counts as passing trouble. */
export class JobFailure extends Error {
  override readonly name = 'JobFailure';
  /** Not before this long from now; null: whenever the back-off says. */
  readonly retryAfterMs: number | null;
  /** Another attempt would not help. */
  readonly isFinal: boolean;
  /** Whoever failed has logged why. */
  readonly isLogged: boolean;

  constructor(reason: string, how: Partial<Pick<JobFailure, 'retryAfterMs' | 'isFinal' | 'isLogged'>> = {}) {
    super(reason);
    this.retryAfterMs = how.retryAfterMs ?? null;
    this.isFinal = how.isFinal ?? false;
    this.isLogged = how.isLogged ?? false;
  }
}

/** What the jobs of one lease carry together, before the last of them. */
export const LEASED_UNITS = 1_000_000;

/** The reason given when a holder let its last lease run out. */
export const LEASE_RAN_OUT = 'the lease ran out';

// What no caller may ask for, in words: every engine throws the same out. Null: nothing is wrong.

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

/** The last moment a job can wait for: engines keep times in 48 bits. */
const TIME_MS_MAX = 2 ** 47;

export function timeProblem(atMs: number): string | null {
  return Number.isInteger(atMs) && atMs >= 0 && atMs <= TIME_MS_MAX ? null : `${atMs} is no time a job can wait for`;
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

/** A reason as it is kept. A pair of surrogates cut in two would be no text any more. */
export function keptReason(reason: string): string {
  return reason.slice(0, JOB_REASON_UNITS_MAX).toWellFormed();
}
