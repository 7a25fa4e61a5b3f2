import type { LeasedJob } from '@tidemark/core';
import type { JobOutcome, JobReport } from './job-outcome.ts';
import { JobRun, type JobRunParts } from './job-run.ts';
import type { QueueGate } from './queue-gate.ts';

export interface QueueWorkersParts extends JobRunParts {
  readonly queue: string;
  /** Jobs run at once. */
  readonly workers: number;
  /** How long a queue at rest is left alone. Jobs this process enqueues are heard of at once. */
  readonly pollMs: number;
  readonly onReport: (report: JobReport) => void;
  readonly gate: QueueGate;
}

/** Leases jobs of one queue and runs so many of them at once. */
export class QueueWorkers {
  readonly #parts: QueueWorkersParts;
  readonly #runs = new Set<JobRun>();
  /** Everything under way, from asking for a lease to the outcome. */
  readonly #busy = new Set<Promise<void>>();
  readonly #endWatch: () => void;
  #cancelPoll: (() => void) | null = null;
  #restsUntilMs = 0;
  /** Counts what was heard, so that a look that began before is not taken for the last word. */
  #hints = 0;
  /** The last look found nothing: one worker looks for all until that changes. */
  #isDry = false;
  #lookers = 0;
  #isStopped = false;

  constructor(parts: QueueWorkersParts) {
    this.#parts = parts;
    this.#endWatch = parts.jobs.watch(parts.queue, () => {
      this.#hints++;
      this.#fill();
    });
    this.#fill();
  }

  /** Leases nothing more; what runs may finish for so long, then its lease is given back. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    this.#endWatch();
    this.#cancelPoll?.();
    const cancel = this.#parts.timers.after(graceMs, () => {
      for (const run of this.#runs) run.giveUp();
    });
    await Promise.all(this.#busy);
    cancel();
  }

  #fill(): void {
    while (this.#mayLook()) {
      const waitMs = this.#parts.gate.take();
      if (waitMs > 0) {
        this.#rest(waitMs);
        return;
      }
      const turn: Promise<void> = this.#turn().then((isFruitful) => {
        this.#busy.delete(turn);
        if (isFruitful) this.#fill();
        else this.#rest(this.#parts.pollMs);
      });
      this.#busy.add(turn);
    }
  }

  #mayLook(): boolean {
    if (this.#isStopped || this.#busy.size >= this.#parts.workers) return false;
    return !this.#isDry || this.#lookers === 0;
  }

  /** Takes a job and runs it. False: there was none. */
  async #turn(): Promise<boolean> {
    const { queue, log, gate } = this.#parts;
    const hints = this.#hints;
    try {
      const job = await this.#look();
      const wasDry = this.#isDry;
      this.#isDry = job === null;
      if (job === null) {
        gate.giveBack();
        return hints !== this.#hints;
      }
      // Where one was, more may be.
      if (wasDry) this.#fill();
      await this.#run(job);
      return true;
    } catch (error) {
      log.warn('jobs_not_leased', { queue, reason: error instanceof Error ? error.message : String(error) });
      return false;
    }
  }

  async #look(): Promise<LeasedJob | null> {
    const { jobs, queue, leaseMs } = this.#parts;
    this.#lookers++;
    try {
      return await jobs.lease(queue, leaseMs);
    } finally {
      this.#lookers--;
    }
  }

  async #run(job: LeasedJob): Promise<void> {
    const { clock, queue, onReport } = this.#parts;
    const startMs = clock.nowMs();
    const outcome = await this.#outcomeOf(job);
    onReport({ queue, kind: job.kind, outcome, tookMs: clock.nowMs() - startMs });
  }

  async #outcomeOf(job: LeasedJob): Promise<JobOutcome> {
    // Leased while the end was under way: there is no time to begin.
    if (this.#isStopped) return (await this.#parts.jobs.giveBack(job)) ? 'given_back' : 'lease_lost';
    const run = new JobRun(this.#parts, job);
    this.#runs.add(run);
    const outcome = await run.outcome;
    this.#runs.delete(run);
    return outcome;
  }

  /** Looks again after this long; a later look that was planned before is not waited for. */
  #rest(forMs: number): void {
    const { timers, clock, pollMs } = this.#parts;
    const restMs = Math.min(forMs, pollMs);
    const untilMs = clock.nowMs() + restMs;
    if (this.#isStopped || (this.#cancelPoll !== null && this.#restsUntilMs <= untilMs)) return;
    this.#cancelPoll?.();
    this.#restsUntilMs = untilMs;
    this.#cancelPoll = timers.after(restMs, () => {
      this.#cancelPoll = null;
      this.#fill();
    });
  }
}
