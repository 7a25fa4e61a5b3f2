import type { Jobs } from '@tidemark/core';
import type { JobRun } from './job-run.ts';
import type { Timers } from './timers.ts';

export interface LeasedBatchParts {
  readonly jobs: Jobs;
  readonly timers: Timers;
  readonly leaseMs: number;
  /** A handler that takes longer has failed, so that one that hangs does not keep its worker for ever. */
  readonly jobMsMax: number;
  readonly onNotRenewed: (run: JobRun, error: unknown) => void;
}

/** Renewals that may fail before the lease runs out. */
const RENEWALS_PER_LEASE = 3;

/**
 * Jobs that were leased in one step. Their leases run out together and so do their times to work, so they share two
 * timers: there may be a thousand of them, most of which are over long before either goes off.
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
    this.#cancelDeadline = timers.after(jobMsMax, () => this.#cutAll());
    this.#renewLater();
  }

  /** The work of the run has ended: its lease is not renewed any more. */
  leave(run: JobRun): void {
    this.#runs.delete(run);
    if (this.#runs.size > 0) return;
    this.#cancelDeadline();
    this.#cancelRenewal();
  }

  #cutAll(): void {
    for (const run of [...this.#runs]) run.cut('too_slow');
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
      if (!(await jobs.renew(run.job, leaseMs))) run.cut('lease_lost');
    } catch (error) {
      // The store may be back before the lease has run out.
      onNotRenewed(run, error);
    }
  }
}
