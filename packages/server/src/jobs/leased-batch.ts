import type { Jobs } from '@tidemark/core';
import type { JobRun } from './job-run.ts';
import type { Timers } from './timers.ts';

export interface LeasedBatchParts {
  readonly jobs: Jobs;
  readonly timers: Timers;
  readonly leaseMs: number;
  /** A handler that takes longer has failed, so that a hanging one does not block its worker. */
  readonly jobMsMax: number;
  readonly onNotRenewed: (run: JobRun, error: unknown) => void;
}

/** Renewals that may fail before the lease expires. */
const RENEWALS_PER_LEASE = 3;

/**
 * Jobs that were leased in one step. Their leases and deadlines end together, so they share two timers: there may be
 * a thousand jobs, most of which end long before.
 */
export class LeasedBatch {
  readonly #parts: LeasedBatchParts;
  readonly #runs: Set<JobRun>;
  readonly #cancelDeadline: () => void;
  #cancelRenewal: () => void = () => undefined;

  constructor(parts: LeasedBatchParts, runs: readonly JobRun[]) {
    const { timers, jobMsMax } = parts;
    this.#parts = parts;
    this.#runs = new Set(runs);
    this.#cancelDeadline = timers.after(jobMsMax, () => this.#interruptAll());
    this.#renewLater();
  }

  /** Stops the renewal of the lease of a run that has ended. */
  leave(run: JobRun): void {
    this.#runs.delete(run);
    if (this.#runs.size > 0) return;
    this.#cancelDeadline();
    this.#cancelRenewal();
  }

  #interruptAll(): void {
    for (const run of [...this.#runs]) run.interrupt('too_slow');
  }

  #renewLater(): void {
    const { timers, leaseMs } = this.#parts;
    this.#cancelRenewal = timers.after(Math.ceil(leaseMs / RENEWALS_PER_LEASE), () => void this.#renewAll());
  }

  async #renewAll(): Promise<void> {
    await Promise.all([...this.#runs].map((run) => this.#renew(run)));
    if (this.#runs.size > 0) this.#renewLater();
  }

  async #renew(run: JobRun): Promise<void> {
    const { jobs, leaseMs, onNotRenewed } = this.#parts;
    try {
      if (!(await jobs.renew(run.job, leaseMs))) run.interrupt('lease_lost');
    } catch (error) {
      // The store may recover before the lease expires.
      onNotRenewed(run, error);
    }
  }
}
