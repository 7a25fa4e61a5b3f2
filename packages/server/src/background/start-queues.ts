import {
  type Clock,
  type Jobs,
  type Log,
  REFRESH_KIND,
  type Tidemark,
  UPLOAD_KIND,
  UPLOAD_QUEUE,
} from '@tidemark/core';
import type { QueueConfig } from '../config/config.ts';
import { JobRunner } from '../jobs/job-runner.ts';

const LOOK_EVERY_MS = 5_000;

export interface QueuesParts {
  readonly tidemark: Tidemark;
  readonly jobs: Jobs;
  readonly clock: Clock;
  /** Measures durations: it is never set. */
  readonly steadyClock: Clock;
  readonly log: Log;
  readonly dice: () => number;
  readonly queues: readonly QueueConfig[];
}

export interface Queues {
  /** From now on this process runs jobs of the queue, too. */
  serve(queue: string): void;
  /** Sources may name other queues than before. */
  look(): void;
  /** Leases nothing more; what runs may finish within the grace. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Refreshes sources and uploads changes that were left to queues: those that sources name, also those that are named
 * later, and the one for uploads that met trouble.
 */
export function startQueues(parts: QueuesParts): Queues {
  const { tidemark, log } = parts;
  const runner = runnerOf(parts);
  const look = () =>
    serveAll(tidemark, runner).catch((error: unknown) =>
      log.warn('queues_not_looked_up', { reason: error instanceof Error ? error.message : String(error) }),
    );
  runner.serve(UPLOAD_QUEUE);
  void look();
  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();
  return {
    serve: (queue) => runner.serve(queue),
    look: () => void look(),
    async stop(graceMs) {
      clearInterval(timer);
      await runner.stop(graceMs);
    },
  };
}

function runnerOf({ tidemark, jobs, clock, steadyClock, log, dice, queues }: QueuesParts): JobRunner {
  return new JobRunner({
    jobs,
    clock,
    steadyClock,
    log,
    dice,
    handlers: new Map([
      [REFRESH_KIND, tidemark.refresher.handler],
      [UPLOAD_KIND, (job) => tidemark.devices.runUpload(job)],
    ]),
    optionsOf: (queue) => queueOptionsOf(queues, queue),
    onReport: ({ queue, outcome, tookMs }) => tidemark.stats.record(`jobs:${queue}:${outcome}`, tookMs, clock.nowMs()),
  });
}

async function serveAll(tidemark: Tidemark, runner: JobRunner): Promise<void> {
  for (const { queue, query_queue, cud_queue } of await tidemark.sources.list()) {
    for (const name of [queue, query_queue, cud_queue]) {
      if (name !== null) runner.serve(name);
    }
  }
}

/** Jobs that are heard of at once where they were left. */
export function announcing(jobs: Jobs, onEnqueue: (queue: string) => void): Pick<Jobs, 'enqueue' | 'enqueueAll'> {
  return {
    enqueue(queue, job) {
      onEnqueue(queue);
      return jobs.enqueue(queue, job);
    },
    enqueueAll(queue, many) {
      onEnqueue(queue);
      return jobs.enqueueAll(queue, many);
    },
  };
}

/** What the configuration says of a queue, in the words of the runner. */
function queueOptionsOf(queues: readonly QueueConfig[], name: string): { workers?: number; perSecond?: number } {
  const { workers = null, perSecond = null } = queues.find((queue) => queue.name === name) ?? {};
  return { ...(workers === null ? {} : { workers }), ...(perSecond === null ? {} : { perSecond }) };
}
