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
  UPLOAD_KIND,
  UPLOAD_QUEUE,
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

/** Runs jobs: carries pings to devices, refreshes sources and uploads changes that were left to queues; and counts what becomes of them. */
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
      [UPLOAD_KIND, (job) => tidemark.devices.runUpload(job)],
    ]),
    optionsOf: (queue) => queueOptionsOf(queues, queue),
    dice: () => Math.random(),
    onReport: ({ queue, outcome, tookMs }) => count(`jobs:${queue}:${outcome}`, tookMs),
  });
  runner.serve(PING_QUEUE);
  runner.serve(UPLOAD_QUEUE);
  return runner;
}
