import type { Clock, JobHandler, Jobs, LeasedJob, Log } from '@tidemark/core';
import { errorMessage, JOBS_LEASED_PER_CALL_MAX } from '@tidemark/protocol';
import type { BackOff } from './back-off.ts';
import { type JobEnd, JobRun } from './job-run.ts';
import { type JobReport, JobSettler, type SettledRun } from './job-settler.ts';
import { LeasedBatch } from './leased-batch.ts';
import type { JobPermit, QueueGate } from './queue-gate.ts';
import type { Timers } from './timers.ts';

export interface QueueWorkersParts {
  readonly queue: string;
  readonly jobs: Jobs;
  readonly handlers: ReadonlyMap<string, JobHandler>;
  readonly clock: Clock;
  readonly steadyClock: Clock;
  readonly timers: Timers;
  readonly jitter: () => number;
  readonly log: Log;
  /** Concurrent jobs. */
  readonly workers: number;
  readonly leaseMs: number;
  /** A handler that takes longer has failed, so that a hanging one does not block its worker. */
  readonly jobMsMax: number;
  readonly backOff: BackOff;
  /** True if a run that is interrupted by a stop counts as an attempt. */
  readonly countsInterrupted: boolean;
  /** How long to wait when no job is due. Jobs enqueued by this process are noticed at once. */
  readonly pollMs: number;
  readonly onReport: (report: JobReport) => void;
  readonly gate: QueueGate;
}

const STARTS_PER_TURN = 20;
/** Timers may fire this much early. A poll that does must not be followed by another one at once. */
const EARLY_MS = 1;

/** Leases jobs of one queue, as many at once as workers are free, and runs them concurrently. */
export class QueueWorkers {
  readonly #parts: QueueWorkersParts;
  readonly #settler: JobSettler;
  readonly #runs = new Map<JobRun, LeasedBatch>();
  readonly #unwatch: () => void;
  #cancelPoll: (() => void) | null = null;
  #pollsAtMs = 0;
  /**
   * Counts announcements of jobs, so that a lease that began before an announcement is not taken for the latest
   * state.
   */
  #announcements = 0;
  /** True if the last lease returned nothing: then only one worker polls until that changes. */
  #isEmpty = false;
  #leasing = 0;
  /** Workers that run a job or lease one. */
  #busy = 0;
  /** Jobs that have ended and whose result is not stored yet: their workers are free again. */
  #settling = 0;
  #isFillScheduled = false;
  #isStopped = false;
  #onIdle: () => void = () => undefined;

  constructor(parts: QueueWorkersParts) {
    this.#parts = parts;
    this.#settler = new JobSettler({ ...parts, onSettled: (settled) => this.#settled(settled) });
    this.#unwatch = parts.jobs.watch(parts.queue, () => {
      this.#announcements++;
      this.#fill();
    });
    this.#fill();
  }

  /** Leases no more jobs; running ones may finish within the grace period, then their leases are given back. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    this.#unwatch();
    this.#cancelPoll?.();
    if (this.#isIdle()) return;
    const cancel = this.#parts.timers.after(graceMs, () => {
      for (const run of [...this.#runs.keys()]) run.interrupt('stopping');
    });
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    cancel();
  }

  /** Leases jobs for all free workers that the gate admits, `jobsMax` at most. */
  #fill(jobsMax = JOBS_LEASED_PER_CALL_MAX): void {
    if (this.#isStopped || (this.#isEmpty && this.#leasing > 0)) return;
    const { workers, gate } = this.#parts;
    // A slow store must not get ever more results to store.
    const unsettled = Math.max(0, this.#settling - workers);
    const free = Math.min(workers - this.#busy - unsettled, jobsMax);
    const permits: JobPermit[] = [];
    while (permits.length < free) {
      const permit = gate.take();
      if (typeof permit === 'number') {
        this.#pollAfter(permit);
        break;
      }
      permits.push(permit);
    }
    if (permits.length > 0) void this.#leaseJobs(permits);
  }

  async #leaseJobs(permits: readonly JobPermit[]): Promise<void> {
    const announcements = this.#announcements;
    this.#leasing++;
    this.#busy += permits.length;
    const leased = await this.#lease(permits.length);
    this.#leasing--;
    this.#release(permits.slice(leased?.length ?? 0));
    // A non-empty result means that there may be more jobs; an announcement during the lease may have come too late for
    // it.
    if (leased !== null) this.#isEmpty = leased.length === 0;
    if (leased !== null && leased.length > 0) this.#start(permits, leased);
    if (leased === null || (this.#isEmpty && announcements === this.#announcements)) this.#pollNext();
    else this.#fill();
  }

  /** Returns null if the store failed. */
  async #lease(jobsMax: number): Promise<readonly LeasedJob[] | null> {
    const { jobs, queue, leaseMs, log } = this.#parts;
    try {
      return await jobs.leaseMany(queue, leaseMs, jobsMax);
    } catch (error) {
      log.warn('jobs_not_leased', { queue, reason: errorMessage(error) });
      return null;
    }
  }

  /** Gives back permits for which there was no job. */
  #release(permits: readonly JobPermit[]): void {
    for (const permit of permits) permit.giveBack();
    this.#busy -= permits.length;
    this.#notifyIdle();
  }

  /** Starts the leased jobs with the first permits; the other permits were given back. */
  #start(permits: readonly JobPermit[], leased: readonly LeasedJob[]): void {
    const startMs = this.#parts.steadyClock.nowMs();
    const runs = permits.flatMap((permit, index) => {
      const job = leased[index];
      return job === undefined ? [] : [new JobRun(job, permit, startMs, this.#end)];
    });
    // The stop began during the lease: there is no time to start the jobs.
    if (this.#isStopped) {
      this.#busy -= runs.length;
      this.#settling += runs.length;
      for (const run of runs) {
        run.permit.giveBack();
        void this.#settler.giveBack(run);
      }
      return;
    }
    const onNotRenewed = ({ job }: JobRun, error: unknown) => this.#settler.warn('job_lease_not_renewed', job, error);
    const batch = new LeasedBatch({ ...this.#parts, onNotRenewed }, runs);
    for (const run of runs) this.#runs.set(run, batch);
    this.#startFrom(runs, 0);
  }

  /** Starts a bounded number of jobs per turn of the event loop, so that other work gets turns. */
  #startFrom(runs: readonly JobRun[], first: number): void {
    const { handlers } = this.#parts;
    const next = first + STARTS_PER_TURN;
    for (const run of runs.slice(first, next)) run.begin(handlers.get(run.job.kind));
    if (next < runs.length) setImmediate(() => this.#startFrom(runs, next));
  }

  readonly #end = (run: JobRun, end: JobEnd): void => {
    this.#runs.get(run)?.leave(run);
    this.#runs.delete(run);
    run.permit.end();
    this.#busy--;
    this.#settling++;
    this.#settler.settle(run, end);
    this.#fillSoon();
  };

  /** Leases once for all jobs that end at the same moment, and after their results: the store does both in one step. */
  #fillSoon(): void {
    if (this.#isFillScheduled) return;
    this.#isFillScheduled = true;
    process.nextTick(() => {
      this.#isFillScheduled = false;
      this.#fill();
    });
  }

  #settled(settled: readonly SettledRun[]): void {
    const { steadyClock, queue, onReport } = this.#parts;
    const nowMs = steadyClock.nowMs();
    for (const { run, outcome } of settled) {
      onReport({ queue, kind: run.job.kind, outcome, tookMs: nowMs - run.startMs });
    }
    this.#settling -= settled.length;
    this.#notifyIdle();
    this.#fill();
  }

  #isIdle(): boolean {
    return this.#busy === 0 && this.#settling === 0;
  }

  #notifyIdle(): void {
    if (this.#isIdle()) this.#onIdle();
  }

  /** Polls at the next multiple of the interval, as all queues of the process do, so that it wakes up once for all of them. */
  #pollNext(): void {
    const { steadyClock, pollMs } = this.#parts;
    const nowMs = steadyClock.nowMs();
    this.#pollAfter(Math.ceil((nowMs + EARLY_MS) / pollMs) * pollMs - nowMs);
  }

  /** Leases again after this time, or earlier if that is scheduled already. */
  #pollAfter(forMs: number): void {
    const { timers, steadyClock, pollMs } = this.#parts;
    const waitMs = Math.min(forMs, pollMs);
    const untilMs = steadyClock.nowMs() + waitMs;
    if (this.#isStopped || (this.#cancelPoll !== null && this.#pollsAtMs <= untilMs)) return;
    this.#cancelPoll?.();
    this.#pollsAtMs = untilMs;
    this.#cancelPoll = timers.after(waitMs, () => {
      this.#cancelPoll = null;
      // An idle queue is polled for one job, because permits for all workers cost more than the lease.
      if (this.#isEmpty) this.#fill(1);
      else this.#fill();
    });
  }
}
