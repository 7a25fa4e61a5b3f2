import type { Clock, JobHandler, Jobs, Log } from '@tidemark/core';
import type { BackOff } from './back-off.ts';
import type { JobReport } from './job-settler.ts';
import { PaceGate } from './pace-gate.ts';
import { bothGates, OPEN_GATE, type QueueGate } from './queue-gate.ts';
import { QueueWorkers } from './queue-workers.ts';
import { systemTimers, type Timers } from './timers.ts';

export interface JobRunnerParts {
  readonly jobs: Jobs;
  /** Handlers by kind of job. */
  readonly handlers: ReadonlyMap<string, JobHandler>;
  readonly clock: Clock;
  /** Measures durations: it is never set. Absent: `clock`. */
  readonly steadyClock?: Clock;
  /** Returns random fractions from 0 up to 1, for the back-off. */
  readonly jitter: () => number;
  readonly log: Log;
  readonly timers?: Timers;
  /** Returns the default options of a queue. */
  readonly optionsOf?: (queue: string) => QueueOptions;
  /** Called after every lease. */
  readonly onReport?: (report: JobReport) => void;
}

export interface QueueOptions {
  readonly workers?: number;
  /** Jobs started per second; null: no limit. */
  readonly perSecond?: number | null;
  readonly leaseMs?: number;
  readonly pollMs?: number;
  readonly jobMsMax?: number;
  readonly backOff?: BackOff;
  /** Asked before every lease. */
  readonly gate?: QueueGate;
  /**
   * True if a run that is interrupted by a stop counts as an attempt. Needed if the work may have been done already
   * and a repetition must be recognised.
   */
  readonly countsInterrupted?: boolean;
}

const DEFAULTS: Required<Omit<QueueOptions, 'perSecond'>> = {
  workers: 4,
  leaseMs: 60_000,
  pollMs: 1_000,
  jobMsMax: 600_000,
  backOff: { baseMs: 1_000, capMs: 300_000 },
  gate: OPEN_GATE,
  countsInterrupted: false,
};

/** Runs the jobs of the queues it serves, until it is stopped. */
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

  /** Does nothing if the queue is served already, or after the stop. */
  serve(queue: string, options: QueueOptions = this.#parts.optionsOf(queue)): void {
    if (this.#isStopped || this.#queues.has(queue)) return;
    const { perSecond = null, gate: given = OPEN_GATE, ...others } = options;
    const { steadyClock: clock } = this.#parts;
    const gate = perSecond === null ? given : bothGates(given, new PaceGate({ clock, perSecond, burst: 1 }));
    this.#queues.set(queue, new QueueWorkers({ ...this.#parts, ...DEFAULTS, ...others, gate, queue }));
  }

  /** Leases no more jobs; running ones may finish within the grace period, then their leases are given back. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#queues.values()].map((workers) => workers.stop(graceMs)));
  }
}
