import { type Clock, JobFailure, type Jobs, type LeasedJob, type Log } from '@tidemark/core';
import { errorMessage, JOBS_LEASED_PER_CALL_MAX } from '@tidemark/protocol';
import { type BackOff, backOffMs } from './back-off.ts';
import type { InterruptReason, JobEnd, JobRun } from './job-run.ts';

/**
 * The result of one lease. `lease_lost`: it expired, so the result did not count. `unsettled`: the store did not
 * accept the result, so the job runs again when the lease has expired.
 */
type JobOutcome = 'done' | 'retried' | 'dead' | 'lease_lost' | 'given_back' | 'unsettled';

export interface JobReport {
  readonly queue: string;
  readonly kind: string;
  readonly outcome: JobOutcome;
  readonly tookMs: number;
}

interface JobSettlerParts {
  readonly queue: string;
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly jitter: () => number;
  readonly log: Log;
  readonly jobMsMax: number;
  readonly backOff: BackOff;
  /** True if a run that is interrupted by a stop counts as an attempt. */
  readonly countsInterrupted: boolean;
  /** Called with runs whose result is stored. */
  readonly onSettled: (settled: readonly SettledRun[]) => void;
}

export interface SettledRun {
  readonly run: JobRun;
  readonly outcome: JobOutcome;
}

/** Bounds the wait that a handler can ask for. */
const RETRY_AFTER_MS_MAX = 86_400_000;

/** Stores the results of the jobs of one queue. Successful jobs, which are most, are acknowledged together. */
export class JobSettler {
  readonly #parts: JobSettlerParts;
  #done: JobRun[] = [];

  constructor(parts: JobSettlerParts) {
    this.#parts = parts;
  }

  settle(run: JobRun, end: JobEnd): void {
    if (end.kind === 'done') this.#acknowledgeSoon(run);
    else void this.#settleAlone(run, end);
  }

  async giveBack(run: JobRun): Promise<void> {
    await this.#settleAlone(run, { kind: 'interrupted', reason: 'stopping' }, false);
  }

  #acknowledgeSoon(run: JobRun): void {
    // Runs after all promises that are settled by now, so that jobs that end at the same moment are acknowledged
    // together.
    if (this.#done.length === 0) process.nextTick(this.#acknowledge);
    this.#done.push(run);
  }

  readonly #acknowledge = (): void => {
    const done = this.#done;
    this.#done = [];
    for (let first = 0; first < done.length; first += JOBS_LEASED_PER_CALL_MAX) {
      void this.#acknowledgeAll(done.slice(first, first + JOBS_LEASED_PER_CALL_MAX));
    }
  };

  async #acknowledgeAll(runs: readonly JobRun[]): Promise<void> {
    const { jobs, queue, onSettled } = this.#parts;
    let counted: readonly boolean[] | null = null;
    try {
      counted = await jobs.acknowledgeAll(
        queue,
        runs.map(({ job }) => job),
      );
    } catch (error) {
      for (const { job } of runs) this.warn('job_not_settled', job, error);
    }
    onSettled(runs.map((run, index) => ({ run, outcome: outcomeOf(counted, index) })));
  }

  async #settleAlone(
    run: JobRun,
    end: Exclude<JobEnd, { readonly kind: 'done' }>,
    countsInterrupted = this.#parts.countsInterrupted,
  ): Promise<void> {
    let outcome: JobOutcome = 'unsettled';
    try {
      outcome =
        end.kind === 'failed'
          ? await this.#fail(run.job, end.error)
          : await this.#settleInterrupted(run.job, end.reason, countsInterrupted);
    } catch (error) {
      this.warn('job_not_settled', run.job, error);
    }
    this.#parts.onSettled([{ run, outcome }]);
  }

  async #settleInterrupted(job: LeasedJob, reason: InterruptReason, countsInterrupted: boolean): Promise<JobOutcome> {
    const { jobs, jobMsMax } = this.#parts;
    if (reason === 'too_slow') return this.#fail(job, new JobFailure(`took longer than ${jobMsMax} ms`));
    if (reason === 'lease_lost') return 'lease_lost';
    if (countsInterrupted) return this.#fail(job, new JobFailure('interrupted because the server stopped'));
    return (await jobs.giveBack(job)) ? 'given_back' : 'lease_lost';
  }

  async #fail(job: LeasedJob, failure: unknown): Promise<JobOutcome> {
    const { jobs, clock, backOff, jitter } = this.#parts;
    const reason = errorMessage(failure);
    const isFinal = failure instanceof JobFailure && failure.isFinal;
    // A logged failure is not logged again, unless the job is given up.
    if (isFinal || !(failure instanceof JobFailure && failure.isLogged)) this.warn('job_failed', job, failure);
    if (isFinal) {
      return (await jobs.bury(job, reason)) ? 'dead' : 'lease_lost';
    }
    const { retryAfterMs: askedMs, backsOff } = failure instanceof JobFailure ? failure : UNEXPECTED;
    const pauseMs = backsOff ? backOffMs(job.attempt, backOff, jitter) : 0;
    const waitMs = Math.max(pauseMs, Math.min(askedMs ?? 0, RETRY_AFTER_MS_MAX));
    const atMs = clock.nowMs() + Math.ceil(waitMs);
    if (!backsOff) return (await jobs.giveBack(job, { atMs, reason })) ? 'retried' : 'lease_lost';
    const outcome = await jobs.retry(job, atMs, reason);
    return outcome === 'retrying' ? 'retried' : outcome;
  }

  /** Never logs the payload, which is data of users. */
  warn(event: string, { id, queue, kind, attempt }: LeasedJob, error: unknown): void {
    this.#parts.log.warn(event, { job: id, queue, kind, attempt, reason: errorMessage(error) });
  }
}

/** How a job goes on after an error that says nothing about it. */
const UNEXPECTED: Pick<JobFailure, 'retryAfterMs' | 'backsOff'> = { retryAfterMs: null, backsOff: true };

function outcomeOf(counted: readonly boolean[] | null, index: number): JobOutcome {
  if (counted === null) return 'unsettled';
  return counted[index] === true ? 'done' : 'lease_lost';
}
