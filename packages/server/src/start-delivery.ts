import {
  type Clock,
  deliverPing,
  type Jobs,
  type Log,
  type Notifier,
  PING_KIND,
  PING_QUEUE,
  REFRESH_KIND,
  type Tidemark,
} from '@tidemark/core';
import type { QueueConfig } from './config/config.ts';
import { JobRunner } from './jobs/job-runner.ts';
import { queueOptionsOf } from './start-queues.ts';

export interface DeliveryParts {
  readonly tidemark: Tidemark;
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly log: Log;
  readonly notifier: Notifier;
  readonly queues: readonly QueueConfig[];
}

/** Runs jobs: carries pings to devices, refreshes sources that name a queue; and counts what becomes of them. */
export function startDelivery({ tidemark, jobs, clock, log, notifier, queues }: DeliveryParts): JobRunner {
  const count = (metric: string, value: number) => tidemark.stats.record(metric, value, clock.nowMs());
  const deliver = deliverPing({
    store: tidemark.store,
    notifier,
    onOutcome: (deviceType, outcome) => count(`pings:${deviceType}:${outcome}`, 1),
  });
  const runner = new JobRunner({
    jobs,
    clock,
    log,
    handlers: new Map([
      [PING_KIND, deliver],
      [REFRESH_KIND, tidemark.refresher.handler],
    ]),
    optionsOf: (queue) => queueOptionsOf(queues, queue),
    dice: () => Math.random(),
    onReport: ({ queue, outcome, tookMs }) => count(`jobs:${queue}:${outcome}`, tookMs),
  });
  runner.serve(PING_QUEUE);
  return runner;
}
