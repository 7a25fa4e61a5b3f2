import { type Clock, JobFailure, type Jobs, type LeasedJob, type Log } from '@tidemark/core';
import { JOBS_LEASED_PER_CALL_MAX } from '@tidemark/protocol';
import { type BackOff, backOffMs } from './back-off.ts';
import type { JobOutcome } from './job-outcome.ts';
import type { InterruptReason, JobEnd, JobRun } from './job-run.ts';

export interface JobSettlerParts {
  readonly queue: string;
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly dice: () => number;
  readonly log: Log;
  readonly jobMsMax: number;
  readonly backOff: BackOff;
  /** Whether work cut short by a stop counts as an attempt. */
  readonly isCutCounted: boolean;
  /** Hears what became of runs whose end is kept. */
  readonly onSettled: (settled: readonly SettledRun[]) => void;
}

export interface SettledRun {
  readonly run: JobRun;
  readonly outcome: JobOutcome;
}

/** Who asks to wait longer than this is not believed. */
const RETRY_AFTER_MS_MAX = 86_400_000;

/** Tells the store what became of the jobs of one queue. Those that are done, which is most, are told together. */
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
    await this.#settleAlone(run, { kind: 'cut', cut: 'stopping' }, false);
  }

  #acknowledgeSoon(run: JobRun): void {
    // After all promises that are settled by now have been followed: what ends at the same moment is told together.
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
    isCutCounted = this.#parts.isCutCounted,
  ): Promise<void> {
    let outcome: JobOutcome = 'unsettled';
    try {
      outcome =
        end.kind === 'failed'
          ? await this.#fail(run.job, end.error)
          : await this.#settleCut(run.job, end.cut, isCutCounted);
    } catch (error) {
      this.warn('job_not_settled', run.job, error);
    }
    this.#parts.onSettled([{ run, outcome }]);
  }

  async #settleCut(job: LeasedJob, cut: InterruptReason, isCutCounted: boolean): Promise<JobOutcome> {
    const { jobs, jobMsMax } = this.#parts;
    if (cut === 'too_slow') return this.#fail(job, new JobFailure(`took longer than ${jobMsMax} ms`));
    if (cut === 'lease_lost') return 'lease_lost';
    if (isCutCounted) return this.#fail(job, new JobFailure('cut short because the server stopped'));
    return (await jobs.giveBack(job)) ? 'given_back' : 'lease_lost';
  }

  async #fail(job: LeasedJob, failure: unknown): Promise<JobOutcome> {
    const { jobs, clock, backOff, dice } = this.#parts;
    const reason = reasonOf(failure);
    const isFinal = failure instanceof JobFailure && failure.isFinal;
    // Why it failed is not said twice; that it is not tried again is news.
    if (isFinal || !(failure instanceof JobFailure && failure.isLogged)) this.warn('job_failed', job, failure);
    if (isFinal) {
      return (await jobs.bury(job, reason)) ? 'dead' : 'lease_lost';
    }
    const askedMs = failure instanceof JobFailure ? (failure.retryAfterMs ?? 0) : 0;
    const waitMs = Math.max(backOffMs(job.attempt, backOff, dice), Math.min(askedMs, RETRY_AFTER_MS_MAX));
    const outcome = await jobs.retry(job, clock.nowMs() + Math.ceil(waitMs), reason);
    return outcome === 'retrying' ? 'retried' : outcome;
  }

  /** Never the payload: it is somebody's data. */
  warn(event: string, { id, queue, kind, attempt }: LeasedJob, error: unknown): void {
    this.#parts.log.warn(event, { job: id, queue, kind, attempt, reason: reasonOf(error) });
  }
}

function outcomeOf(counted: readonly boolean[] | null, index: number): JobOutcome {
  if (counted === null) return 'unsettled';
  return counted[index] === true ? 'done' : 'lease_lost';
}

function reasonOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}
