import type { Jobs, Log, Tidemark } from '@tidemark/core';
import type { QueueConfig } from './config/config.ts';
import type { JobRunner } from './jobs/job-runner.ts';

const LOOK_EVERY_MS = 5_000;

export interface Queues {
  stop(): void;
}

/** Has the queues served that sources name, also those that are named later. */
export function startQueues(tidemark: Tidemark, runner: JobRunner, log: Log): Queues {
  const look = () =>
    serveAll(tidemark, runner).catch((error: unknown) =>
      log.warn('queues_not_looked_up', { reason: error instanceof Error ? error.message : String(error) }),
    );
  void look();
  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
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
export function queueOptionsOf(queues: readonly QueueConfig[], name: string): { workers?: number; perSecond?: number } {
  const { workers = null, perSecond = null } = queues.find((queue) => queue.name === name) ?? {};
  return { ...(workers === null ? {} : { workers }), ...(perSecond === null ? {} : { perSecond }) };
}
