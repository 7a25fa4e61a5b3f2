import {
  type Clock,
  deliverPing,
  type Jobs,
  type Log,
  type Notifier,
  PING_KIND,
  PING_QUEUE,
  type Tidemark,
} from '@tidemark/core';
import { JobRunner } from './jobs/job-runner.ts';

export interface DeliveryParts {
  readonly tidemark: Tidemark;
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly log: Log;
  readonly notifier: Notifier;
}

/** Carries pings to devices, and counts what becomes of them. */
export function startDelivery({ tidemark, jobs, clock, log, notifier }: DeliveryParts): JobRunner {
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
    handlers: new Map([[PING_KIND, deliver]]),
    dice: () => Math.random(),
    onReport: ({ queue, outcome, tookMs }) => count(`jobs:${queue}:${outcome}`, tookMs),
  });
  runner.serve(PING_QUEUE);
  return runner;
}
