import type { Clock, Log } from '@tidemark/core';
import { AggregatorRegistry } from 'prom-client';
import type { Timers } from '../../jobs/timers.ts';
import type { MetricValues } from '../../telemetry/metric-registry.ts';
import type { FromWorker, StartFailure, ToWorker, WorkerReady } from './worker-message.ts';

/** A worker process, as the supervisor sees it. */
export interface WorkerProcess {
  readonly id: number;
  send(message: ToWorker): void;
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
  onMessage(listener: (message: FromWorker) => void): void;
  onExit(listener: (code: number | null, signal: string | null) => void): void;
}

interface SupervisorParts {
  readonly count: number;
  readonly fork: () => WorkerProcess;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** How long workers may take to stop before they are killed. */
  readonly stopMsMax: number;
}

/** A worker could not start for a known reason. */
class WorkerNotStarted extends Error {
  override readonly name = 'WorkerNotStarted';
  readonly failure: StartFailure;

  constructor(failure: StartFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** A worker ended before it was ready, and nobody knows why. */
class EndedEarly extends Error {
  override readonly name = 'EndedEarly';

  constructor(code: number | null, signal: string | null) {
    super(`a worker ended before it was ready (${signal ?? `exit code ${code}`})`);
  }
}

/** How long workers may take to report their metrics. */
const MEASURE_MS_MAX = 2_000;

/** Starts a number of workers, restarts them when they end, and stops them together. It serves no requests itself. */
export class Supervisor {
  readonly #parts: SupervisorParts;
  readonly #budget = new CrashBudget();
  readonly #workers = new Map<number, WorkerProcess>();
  readonly #waiting = new Set<() => void>();
  readonly #measuring = new Map<number, (worker: number, metrics: MetricValues) => void>();
  #lastId = 0;
  #isStopping = false;
  #giveUp: (reason: Error) => void = () => undefined;
  /** Rejects when workers end so often that restarting them is pointless. */
  readonly failed: Promise<never>;

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
    this.failed = new Promise((_, reject) => {
      this.#giveUp = reject;
    });
    // Without a handler Node.js would end the process when nobody waits for it.
    this.failed.catch(() => undefined);
  }

  /**
   * Resolves when all workers are ready, with the message of the first one. The first worker starts alone, so that a
   * general problem is reported once and work of the first start is done before the others come. A worker that is
   * killed before it is ready is started again; one that reports why it cannot start is not.
   */
  async start(): Promise<WorkerReady> {
    const ready = await this.#startUntilReady();
    await Promise.all(Array.from({ length: this.#parts.count - 1 }, () => this.#startUntilReady()));
    return ready;
  }

  async #startUntilReady(): Promise<WorkerReady> {
    for (;;) {
      try {
        return await this.#startOne();
      } catch (error) {
        if (!(error instanceof EndedEarly) || this.#isStopping) throw error;
        await this.#pauseAfterCrash(error);
        if (this.#isStopping) throw error;
      }
    }
  }

  #pauseAfterCrash(error: EndedEarly): Promise<void> {
    const { log, clock, timers } = this.#parts;
    const delayMs = this.#budget.delayAfterCrash(clock.nowMs());
    log.error('worker_not_started', { reason: error.message, restart_in_ms: delayMs });
    if (delayMs === null) throw error;
    return new Promise((resolve) => void timers.after(delayMs, resolve));
  }

  /** Stops all workers; resolves when they have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const worker of this.#workers.values()) worker.kill('SIGTERM');
    const cancel = this.#parts.timers.after(this.#parts.stopMsMax, () => {
      for (const worker of this.#workers.values()) worker.kill('SIGKILL');
    });
    if (this.#workers.size > 0) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    cancel();
  }

  /** Resolves when the worker is ready. After that it is restarted whenever it ends. */
  #startOne(): Promise<WorkerReady> {
    const worker = this.#parts.fork();
    this.#workers.set(worker.id, worker);
    return new Promise((resolve, reject) => {
      let failure: StartFailure | null = null;
      let isReady = false;
      worker.onMessage((message) => {
        if (message.kind === 'ready') {
          isReady = true;
          resolve(message.ready);
        } else if (message.kind === 'failed') failure = message.failure;
        else this.#serve(worker, message);
      });
      worker.onExit((code, signal) => {
        this.#forget(worker);
        if (isReady) this.#replace(worker.id, code, signal);
        else reject(failure === null ? new EndedEarly(code, signal) : new WorkerNotStarted(failure));
      });
    });
  }

  #forget({ id }: WorkerProcess): void {
    this.#workers.delete(id);
    if (this.#workers.size === 0) for (const tell of this.#waiting) tell();
  }

  #replace(id: number, code: number | null, signal: string | null): void {
    if (this.#isStopping) return;
    const { log, clock, timers } = this.#parts;
    const delayMs = this.#budget.delayAfterCrash(clock.nowMs());
    log.error('worker_ended', { ended: id, code, signal, restart_in_ms: delayMs });
    if (delayMs === null) this.#giveUp(new Error(`workers have crashed more than ${CRASHES_MAX} times in a minute`));
    else timers.after(delayMs, () => this.#restart(id));
  }

  #restart(id: number): void {
    const { log } = this.#parts;
    if (this.#isStopping) return;
    this.#startOne().then(
      () => log.info('worker_replaced', { ended: id }),
      (error: Error) => {
        log.error('worker_not_started', { reason: error.message });
        this.#replace(id, null, null);
      },
    );
  }

  #serve(worker: WorkerProcess, message: FromWorker): void {
    if (message.kind === 'measured') this.#measuring.get(message.id)?.(worker.id, message.metrics);
    if (message.kind !== 'scrape') return;
    void this.#scrape().then((text) => worker.send({ kind: 'scraped', id: message.id, text }));
  }

  /** Returns the metrics of all workers that answer, aggregated as each metric defines. */
  async #scrape(): Promise<string> {
    const all = await this.#measureAll();
    return AggregatorRegistry.aggregate(all.map((metrics) => [...metrics])).metrics();
  }

  #measureAll(): Promise<readonly MetricValues[]> {
    const id = ++this.#lastId;
    const expected = new Set(this.#workers.keys());
    const all: MetricValues[] = [];
    return new Promise((resolve) => {
      const settle = () => {
        cancel();
        this.#measuring.delete(id);
        resolve(all);
      };
      const cancel = this.#parts.timers.after(MEASURE_MS_MAX, settle);
      this.#measuring.set(id, (worker, metrics) => {
        if (!expected.delete(worker)) return;
        all.push(metrics);
        if (expected.size === 0) settle();
      });
      for (const worker of this.#workers.values()) worker.send({ kind: 'measure', id });
    });
  }
}

/** Crashes within the window after which workers are not restarted any more. */
export const CRASHES_MAX = 10;
export const CRASH_WINDOW_MS = 60_000;
const DELAY_MS = 100;
const DELAY_MS_MAX = 5_000;

/** Decides how long to wait before a crashed worker is restarted. */
export class CrashBudget {
  #crashedAtMs: readonly number[] = [];

  /** Returns null if workers have crashed too often recently. */
  delayAfterCrash(nowMs: number): number | null {
    this.#crashedAtMs = [...this.#crashedAtMs.filter((atMs) => nowMs - atMs < CRASH_WINDOW_MS), nowMs];
    const count = this.#crashedAtMs.length;
    return count > CRASHES_MAX ? null : Math.min(DELAY_MS_MAX, DELAY_MS * 2 ** (count - 1));
  }
}
