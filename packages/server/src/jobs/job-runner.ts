import type { Clock, JobHandler, Jobs, Log } from '@tidemark/core';
import type { BackOff } from './back-off.ts';
import type { JobReport } from './job-outcome.ts';
import { PaceGate } from './pace-gate.ts';
import { bothGates, OPEN_GATE, type QueueGate } from './queue-gate.ts';
import { QueueWorkers } from './queue-workers.ts';
import { systemTimers, type Timers } from './timers.ts';

export interface JobRunnerParts {
  readonly jobs: Jobs;
  /** By kind of job. */
  readonly handlers: ReadonlyMap<string, JobHandler>;
  readonly clock: Clock;
  /** Measures durations: it is never set. Absent: `clock`. */
  readonly steadyClock?: Clock;
  /** Fractions from 0 up to 1, for the back-off. */
  readonly dice: () => number;
  readonly log: Log;
  readonly timers?: Timers;
  /** How a queue is served when nobody says. */
  readonly optionsOf?: (queue: string) => QueueOptions;
  /** Hears of every lease that has ended. */
  readonly onReport?: (report: JobReport) => void;
}

export interface QueueOptions {
  readonly workers?: number;
  /** Jobs begun in a second; null: as many as come. */
  readonly perSecond?: number | null;
  readonly leaseMs?: number;
  readonly pollMs?: number;
  readonly jobMsMax?: number;
  readonly backOff?: BackOff;
  /** Asked before every lease. */
  readonly gate?: QueueGate;
  /**
   * Whether work that is cut short by a stop counts as an attempt. It must where the work may have been done already and
   * a second time has to be told from the first.
   */
  readonly isCutCounted?: boolean;
}

const DEFAULTS: Required<Omit<QueueOptions, 'perSecond'>> = {
  workers: 4,
  leaseMs: 60_000,
  pollMs: 1_000,
  jobMsMax: 600_000,
  backOff: { baseMs: 1_000, capMs: 300_000 },
  gate: OPEN_GATE,
  isCutCounted: false,
};

/** Runs the jobs of the queues it is told to serve, until it is stopped. */
export class JobRunner {
  readonly #parts: Required<JobRunnerParts>;
  readonly #queues = new Map<string, QueueWorkers>();
  #isStopped = false;

  constructor(parts: JobRunnerParts) {
    const { clock: steadyClock } = parts;
    this.#parts = { timers: systemTimers, onReport: () => undefined, optionsOf: () => ({}), steadyClock, ...parts };
  }

  get queues(): readonly string[] {
    return [...this.#queues.keys()];
  }

  /** A queue that is served already, or comes too late, is left as it is. */
  serve(queue: string, options: QueueOptions = this.#parts.optionsOf(queue)): void {
    if (this.#isStopped || this.#queues.has(queue)) return;
    const { perSecond = null, gate: given = OPEN_GATE, ...others } = options;
    const { steadyClock: clock } = this.#parts;
    const gate = perSecond === null ? given : bothGates(given, new PaceGate({ clock, perSecond, burst: 1 }));
    this.#queues.set(queue, new QueueWorkers({ ...this.#parts, ...DEFAULTS, ...others, gate, queue }));
  }

  /** Leases nothing more; what runs may finish for so long, then its lease is given back. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#queues.values()].map((workers) => workers.stop(graceMs)));
  }
}
