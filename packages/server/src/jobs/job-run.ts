import { type Clock, JobFailure, type JobHandler, type Jobs, type LeasedJob, type Log } from '@tidemark/core';
import { type BackOff, backOffMs } from './back-off.ts';
import type { JobOutcome } from './job-outcome.ts';
import type { Timers } from './timers.ts';

export interface JobRunParts {
  readonly jobs: Jobs;
  readonly handlers: ReadonlyMap<string, JobHandler>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly dice: () => number;
  readonly log: Log;
  readonly leaseMs: number;
  /** A handler that takes longer has failed, so that one that hangs does not keep its worker for ever. */
  readonly jobMsMax: number;
  readonly backOff: BackOff;
  /** Whether work cut short by a stop counts as an attempt. */
  readonly isCutCounted: boolean;
}

/** Who asks to wait longer than this is not believed. */
const RETRY_AFTER_MS_MAX = 86_400_000;
/** Renewals that may fail before the lease runs out. */
const RENEWALS_PER_LEASE = 3;

/** Why the work was cut short. */
type Cut = 'lease_lost' | 'stopping' | 'too_slow';

type WorkEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'cut'; readonly cut: Cut };

/** One leased job on its way to an outcome. */
export class JobRun {
  readonly outcome: Promise<JobOutcome>;
  readonly #parts: JobRunParts;
  readonly #job: LeasedJob;
  #controller: AbortController | null = null;
  #cutBecause: Cut | null = null;
  #isOver = false;
  #onCut: (cut: Cut) => void = () => undefined;
  #cancelRenewal: () => void = () => undefined;

  constructor(parts: JobRunParts, job: LeasedJob) {
    this.#parts = parts;
    this.#job = job;
    this.outcome = this.#run();
  }

  /** Cuts the work short and gives the lease back. Does nothing once the work has ended. */
  giveUp(): void {
    this.#cut('stopping');
  }

  async #run(): Promise<JobOutcome> {
    const { timers, jobMsMax } = this.#parts;
    const cancelDeadline = timers.after(jobMsMax, () => this.#cut('too_slow'));
    this.#renewLater();
    try {
      const end = await this.#work();
      this.#stopRenewing();
      return await this.#settle(end);
    } catch (error) {
      this.#warn('job_not_settled', reasonOf(error));
      return 'unsettled';
    } finally {
      cancelDeadline();
      this.#stopRenewing();
    }
  }

  /** Ends also when the handler does not, once its result no longer counts. */
  #work(): Promise<WorkEnd> {
    return new Promise((resolve) => {
      this.#onCut = (cut) => resolve({ kind: 'cut', cut });
      void this.#handle().then(resolve);
    });
  }

  async #handle(): Promise<WorkEnd> {
    const handler = this.#parts.handlers.get(this.#job.kind);
    if (handler === undefined) {
      return { kind: 'failed', error: new JobFailure(`nobody here runs jobs of the kind ${this.#job.kind}`) };
    }
    try {
      await handler(this.#job, () => this.#signal());
      return { kind: 'done' };
    } catch (error) {
      return { kind: 'failed', error };
    }
  }

  async #settle(end: WorkEnd): Promise<JobOutcome> {
    const { jobs } = this.#parts;
    switch (end.kind) {
      case 'done':
        return (await jobs.acknowledge(this.#job)) ? 'done' : 'lease_lost';
      case 'failed':
        return this.#fail(end.error);
      case 'cut':
        return this.#settleCut(end.cut);
    }
  }

  async #settleCut(cut: Cut): Promise<JobOutcome> {
    const { jobs, jobMsMax, isCutCounted } = this.#parts;
    if (cut === 'too_slow') return this.#fail(new JobFailure(`took longer than ${jobMsMax} ms`));
    if (cut === 'stopping' && isCutCounted) return this.#fail(new JobFailure('cut short because the server stopped'));
    return cut === 'stopping' && (await jobs.giveBack(this.#job)) ? 'given_back' : 'lease_lost';
  }

  async #fail(failure: unknown): Promise<JobOutcome> {
    const { jobs, clock, backOff, dice } = this.#parts;
    const reason = reasonOf(failure);
    this.#warn('job_failed', reason);
    if (failure instanceof JobFailure && failure.isFinal) {
      return (await jobs.bury(this.#job, reason)) ? 'dead' : 'lease_lost';
    }
    const askedMs = failure instanceof JobFailure ? (failure.retryAfterMs ?? 0) : 0;
    const waitMs = Math.max(backOffMs(this.#job.attempt, backOff, dice), Math.min(askedMs, RETRY_AFTER_MS_MAX));
    const outcome = await jobs.retry(this.#job, clock.nowMs() + Math.ceil(waitMs), reason);
    return outcome === 'retrying' ? 'retried' : outcome;
  }

  #renewLater(): void {
    const { timers, leaseMs } = this.#parts;
    this.#cancelRenewal = timers.after(Math.ceil(leaseMs / RENEWALS_PER_LEASE), () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { jobs, leaseMs } = this.#parts;
    try {
      if (!(await jobs.renew(this.#job, leaseMs))) this.#cut('lease_lost');
    } catch (error) {
      // The store may be back before the lease has run out.
      this.#warn('job_lease_not_renewed', reasonOf(error));
    }
    if (!this.#isOver) this.#renewLater();
  }

  #stopRenewing(): void {
    this.#isOver = true;
    this.#cancelRenewal();
  }

  #cut(cut: Cut): void {
    if (this.#isOver) return;
    this.#cutBecause = cut;
    this.#controller?.abort(cut);
    this.#onCut(cut);
  }

  /** Made only for a handler that wants it: most do not, and there are many jobs. */
  #signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#cutBecause !== null) this.#controller.abort(this.#cutBecause);
    }
    return this.#controller.signal;
  }

  /** Never the payload: it is somebody's data. */
  #warn(event: string, reason: string): void {
    const { id, queue, kind, attempt } = this.#job;
    this.#parts.log.warn(event, { job: id, queue, kind, attempt, reason });
  }
}

function reasonOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}
