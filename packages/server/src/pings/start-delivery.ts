import {
  ANNOUNCE_KIND,
  ANNOUNCE_QUEUE,
  announceToAll,
  type Clock,
  deliverPing,
  type Jobs,
  type Log,
  PING_KIND,
  type PingAttempt,
  type PingResults,
  type Pings,
  pingQueue,
  REPEAT_KIND,
  type RecentPings,
  repeatToBehind,
  type Tidemark,
} from '@tidemark/core';
import { PUSH_SERVICES } from '@tidemark/protocol';
import type { BackOff } from '../jobs/back-off.ts';
import { JobRunner, type QueueOptions } from '../jobs/job-runner.ts';
import type { Notifiers } from './notifiers/open-notifiers.ts';
import { repeatPorts } from './start-push-notices.ts';

export interface DeliveryParts {
  readonly tidemark: Tidemark;
  readonly jobs: Jobs;
  readonly clock: Clock;
  /** Measures durations: it is never set. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly log: Log;
  readonly notifiers: Notifiers;
  readonly pings: Pings;
  readonly results: PingResults;
  readonly recent: RecentPings;
  readonly jitter: () => number;
  /** Concurrent pings to one push service. */
  readonly concurrency: number;
  /** Called with the result of each attempt. */
  readonly onAttempt?: (attempt: PingAttempt) => void;
  /** The back-off between two attempts. */
  readonly backOff?: BackOff;
}

/** The bound for one attempt, including waits for a connection, a token and the answer. */
const ATTEMPT_MS_MAX = 60_000;
/** Failed attempts are spread over ten minutes, within which a restarting push service is back. */
const BACK_OFF: BackOff = { baseMs: 5_000, capMs: 600_000 };

/** Delivers pings to devices, and counts their outcomes. */
export function startDelivery(parts: DeliveryParts): JobRunner {
  const { tidemark, jobs, clock, steadyClock = clock, log, jitter, backOff = BACK_OFF } = parts;
  const { notifiers, pings, results, recent, concurrency } = parts;
  const count = (metric: string, value: number) => tidemark.stats.record(metric, value, clock.nowMs());
  const deliver = deliverPing({
    store: tidemark.store,
    clock,
    steadyClock,
    notifier: notifiers.notifier,
    results,
    recent,
    headsOf: (user, sources) => tidemark.receipts.headsOf(user, sources),
    onOutcome: (attempt) => {
      count(`pings:${attempt.deviceType}:${attempt.status}`, 1);
      parts.onAttempt?.(attempt);
    },
  });
  const runner = new JobRunner({
    jobs,
    clock,
    steadyClock,
    log,
    handlers: new Map([
      [PING_KIND, deliver],
      [ANNOUNCE_KIND, announceToAll(tidemark.store, pings, jobs)],
      [REPEAT_KIND, repeatToBehind(repeatPorts(parts))],
    ]),
    jitter,
    onReport: ({ queue, outcome, tookMs }) => count(`jobs:${queue}:${outcome}`, tookMs),
  });
  runner.serve(ANNOUNCE_QUEUE, { workers: 1 });
  const pace: QueueOptions = { jobMsMax: ATTEMPT_MS_MAX, backOff, countsInterrupted: true, workers: concurrency };
  for (const service of PUSH_SERVICES) {
    runner.serve(pingQueue(service), { ...pace, gate: notifiers.gates[service] });
  }
  return runner;
}
