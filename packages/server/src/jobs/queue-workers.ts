import type { Clock, JobHandler, Jobs, LeasedJob, Log } from '@tidemark/core';
import { JOBS_LEASED_PER_CALL_MAX } from '@tidemark/protocol';
import type { BackOff } from './back-off.ts';
import type { JobReport } from './job-outcome.ts';
import { type JobEnd, JobRun } from './job-run.ts';
import { JobSettler, type SettledRun } from './job-settler.ts';
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
  readonly dice: () => number;
  readonly log: Log;
  /** Jobs run at once. */
  readonly workers: number;
  readonly leaseMs: number;
  /** A handler that takes longer has failed, so that one that hangs does not keep its worker for ever. */
  readonly jobMsMax: number;
  readonly backOff: BackOff;
  /** Whether work cut short by a stop counts as an attempt. */
  readonly isCutCounted: boolean;
  /** How long to rest when nothing is due. Jobs that this process enqueues are heard of at once. */
  readonly pollMs: number;
  readonly onReport: (report: JobReport) => void;
  readonly gate: QueueGate;
}

const BEGINS_PER_TURN = 20;

/** Leases jobs of one queue, as many in one step as there are workers free, and runs so many of them at once. */
export class QueueWorkers {
  readonly #parts: QueueWorkersParts;
  readonly #settler: JobSettler;
  readonly #runs = new Map<JobRun, LeasedBatch>();
  readonly #endWatch: () => void;
  #cancelPoll: (() => void) | null = null;
  #restsUntilMs = 0;
  /** Counts what was heard, so that a look that began before is not taken for the last word. */
  #hints = 0;
  /** The last look found nothing: one looks for all until that changes. */
  #isDry = false;
  #looks = 0;
  /** Workers that have a job, or have asked for one. */
  #busy = 0;
  /** Jobs whose work has ended and whose end is not kept yet: their workers are free again. */
  #settling = 0;
  #isFillPlanned = false;
  #isStopped = false;
  #onIdle: () => void = () => undefined;

  constructor(parts: QueueWorkersParts) {
    this.#parts = parts;
    this.#settler = new JobSettler({ ...parts, onSettled: (settled) => this.#settled(settled) });
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
    if (this.#isIdle()) return;
    const cancel = this.#parts.timers.after(graceMs, () => {
      for (const run of [...this.#runs.keys()]) run.cut('stopping');
    });
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    cancel();
  }

  /** Gives every free worker that the gate lets through something to do. */
  #fill(): void {
    if (this.#isStopped || (this.#isDry && this.#looks > 0)) return;
    const { workers, gate } = this.#parts;
    // A store that is slow to keep what has ended must not be given ever more to keep.
    const unkept = Math.max(0, this.#settling - workers);
    const free = Math.min(workers - this.#busy - unkept, JOBS_LEASED_PER_CALL_MAX);
    const places: JobPermit[] = [];
    while (places.length < free) {
      const place = gate.take();
      if (typeof place === 'number') {
        this.#rest(place);
        break;
      }
      places.push(place);
    }
    if (places.length > 0) void this.#look(places);
  }

  async #look(places: readonly JobPermit[]): Promise<void> {
    const hints = this.#hints;
    this.#looks++;
    this.#busy += places.length;
    const leased = await this.#lease(places.length);
    this.#looks--;
    this.#release(places.slice(leased?.length ?? 0));
    // Where some were, more may be; and what was heard meanwhile may have come too late for this look.
    if (leased !== null) this.#isDry = leased.length === 0;
    if (leased !== null && leased.length > 0) this.#start(places, leased);
    if (leased === null || (this.#isDry && hints === this.#hints)) this.#rest(this.#parts.pollMs);
    else this.#fill();
  }

  /** Null: the store did not answer. */
  async #lease(jobsMax: number): Promise<readonly LeasedJob[] | null> {
    const { jobs, queue, leaseMs, log } = this.#parts;
    try {
      return await jobs.leaseMany(queue, leaseMs, jobsMax);
    } catch (error) {
      log.warn('jobs_not_leased', { queue, reason: error instanceof Error ? error.message : String(error) });
      return null;
    }
  }

  /** Places that nothing was found for. */
  #release(places: readonly JobPermit[]): void {
    for (const place of places) place.giveBack();
    this.#busy -= places.length;
    this.#tellIdle();
  }

  /** The first places are those of the leased; the others were released. */
  #start(places: readonly JobPermit[], leased: readonly LeasedJob[]): void {
    const startMs = this.#parts.steadyClock.nowMs();
    const runs = places.flatMap((place, index) => {
      const job = leased[index];
      return job === undefined ? [] : [new JobRun(job, place, startMs, this.#end)];
    });
    // Leased while the end was under way: there is no time to begin.
    if (this.#isStopped) {
      this.#busy -= runs.length;
      this.#settling += runs.length;
      for (const run of runs) {
        run.place.giveBack();
        void this.#settler.giveBack(run);
      }
      return;
    }
    const onNotRenewed = ({ job }: JobRun, error: unknown) => this.#settler.warn('job_lease_not_renewed', job, error);
    const batch = new LeasedBatch({ ...this.#parts, onNotRenewed }, runs);
    for (const run of runs) this.#runs.set(run, batch);
    this.#beginFrom(runs, 0);
  }

  /** So many in one turn of the event loop: answers to the first are taken before the last has begun, and others get turns. */
  #beginFrom(runs: readonly JobRun[], first: number): void {
    const { handlers } = this.#parts;
    const next = first + BEGINS_PER_TURN;
    for (const run of runs.slice(first, next)) run.begin(handlers.get(run.job.kind));
    if (next < runs.length) setImmediate(() => this.#beginFrom(runs, next));
  }

  readonly #end = (run: JobRun, end: JobEnd): void => {
    this.#runs.get(run)?.leave(run);
    this.#runs.delete(run);
    run.place.end();
    this.#busy--;
    this.#settling++;
    this.#settler.settle(run, end);
    this.#fillSoon();
  };

  /** Once for all that end at the same moment, and behind what is told of them: the store does both in one step. */
  #fillSoon(): void {
    if (this.#isFillPlanned) return;
    this.#isFillPlanned = true;
    process.nextTick(() => {
      this.#isFillPlanned = false;
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
    this.#tellIdle();
    this.#fill();
  }

  #isIdle(): boolean {
    return this.#busy === 0 && this.#settling === 0;
  }

  #tellIdle(): void {
    if (this.#isIdle()) this.#onIdle();
  }

  /** Looks again after this long; a later look that was planned before is not waited for. */
  #rest(forMs: number): void {
    const { timers, steadyClock, pollMs } = this.#parts;
    const restMs = Math.min(forMs, pollMs);
    const untilMs = steadyClock.nowMs() + restMs;
    if (this.#isStopped || (this.#cancelPoll !== null && this.#restsUntilMs <= untilMs)) return;
    this.#cancelPoll?.();
    this.#restsUntilMs = untilMs;
    this.#cancelPoll = timers.after(restMs, () => {
      this.#cancelPoll = null;
      this.#fill();
    });
  }
}
