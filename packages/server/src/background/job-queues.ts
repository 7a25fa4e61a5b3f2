import {
  type Clock,
  type Jobs,
  type Log,
  REFRESH_KIND,
  type Tidemark,
  UPLOAD_KIND,
  UPLOAD_QUEUE,
} from '@tidemark/core';
import { errorMessage } from '@tidemark/protocol';
import type { QueueConfig } from '../config/config.ts';
import { JobRunner } from '../jobs/job-runner.ts';

const DISCOVER_EVERY_MS = 5_000;

export interface JobQueuesParts {
  readonly tidemark: Tidemark;
  readonly jobs: Jobs;
  readonly announcer: JobAnnouncer;
  readonly clock: Clock;
  /** Measures durations: it is never set. */
  readonly steadyClock: Clock;
  readonly log: Log;
  readonly jitter: () => number;
  readonly queues: readonly QueueConfig[];
}

/** Runs the jobs that refresh sources and upload changes: those in queues named by sources, and retried uploads. */
export class JobQueues {
  readonly #parts: JobQueuesParts;
  readonly #runner: JobRunner;
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: JobQueuesParts) {
    this.#parts = parts;
    this.#runner = newRunner(parts);
  }

  start(): void {
    this.#parts.announcer.onEnqueue((queue) => this.#runner.serve(queue));
    this.#runner.serve(UPLOAD_QUEUE);
    this.#timer = setInterval(() => this.discover(), DISCOVER_EVERY_MS);
    this.#timer.unref();
    this.discover();
  }

  /** Serves the queues that sources name now. Does nothing before the start. */
  discover(): void {
    if (this.#timer === null) return;
    this.#serveNamedQueues().catch((error: unknown) =>
      this.#parts.log.warn('queues_not_looked_up', { reason: errorMessage(error) }),
    );
  }

  /** Leases no more jobs; those that run may finish within the grace period. */
  async stop(graceMs: number): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#runner.stop(graceMs);
  }

  async #serveNamedQueues(): Promise<void> {
    for (const { queue, query_queue, cud_queue } of await this.#parts.tidemark.sources.list()) {
      for (const name of [queue, query_queue, cud_queue]) {
        if (name !== null) this.#runner.serve(name);
      }
    }
  }
}

/** Enqueues jobs and announces their queue, so that this server serves a new queue without delay. */
export class JobAnnouncer implements Pick<Jobs, 'enqueue' | 'enqueueAll'> {
  readonly #jobs: Jobs;
  readonly #listeners: ((queue: string) => void)[] = [];

  constructor(jobs: Jobs) {
    this.#jobs = jobs;
  }

  /** Calls the listener with the name of the queue before each job is enqueued. */
  onEnqueue(listener: (queue: string) => void): void {
    this.#listeners.push(listener);
  }

  readonly enqueue: Jobs['enqueue'] = (queue, job) => {
    this.#announce(queue);
    return this.#jobs.enqueue(queue, job);
  };

  readonly enqueueAll: Jobs['enqueueAll'] = (queue, many) => {
    this.#announce(queue);
    return this.#jobs.enqueueAll(queue, many);
  };

  #announce(queue: string): void {
    for (const listener of this.#listeners) listener(queue);
  }
}

function newRunner({ tidemark, jobs, clock, steadyClock, log, jitter, queues }: JobQueuesParts): JobRunner {
  return new JobRunner({
    jobs,
    clock,
    steadyClock,
    log,
    jitter,
    handlers: new Map([
      [REFRESH_KIND, tidemark.refresher.handler],
      [UPLOAD_KIND, (job) => tidemark.devices.runUpload(job)],
    ]),
    optionsOf: (queue) => queueOptions(queues, queue),
    onReport: ({ queue, outcome, tookMs }) => tidemark.stats.record(`jobs:${queue}:${outcome}`, tookMs, clock.nowMs()),
  });
}

function queueOptions(queues: readonly QueueConfig[], name: string): { workers?: number; perSecond?: number } {
  const { workers = null, perSecond = null } = queues.find((queue) => queue.name === name) ?? {};
  return { ...(workers === null ? {} : { workers }), ...(perSecond === null ? {} : { perSecond }) };
}
