import { randomUUID } from 'node:crypto';
import {
  type Clock,
  type Jobs,
  type Log,
  type Pace,
  type PingAttempt,
  PingResults,
  Pings,
  type Random,
  RecentPings,
  type Tidemark,
} from '@tidemark/core';
import type { Config } from '../config/config.ts';
import type { ListeningDevices } from '../events/event-hub.ts';
import type { JobRunner } from '../jobs/job-runner.ts';
import { openNotifiers } from './notifiers/open-notifiers.ts';
import { loadVapidKeys } from './notifiers/vapid.ts';
import { startDelivery } from './start-delivery.ts';
import { type RunningNotices, startPushNotices } from './start-push-notices.ts';

export interface PingsParts {
  readonly config: Config;
  readonly tidemark: Tidemark;
  readonly jobs: Jobs;
  /** Null: this server has no event streams. */
  readonly live: ListeningDevices | null;
  /** Called for every ping that this server has counted against the limit of its caller. */
  readonly onCounted?: (caller: string) => void;
  /** Called with the result of each attempt to deliver a ping. */
  readonly onAttempt?: (attempt: PingAttempt) => void;
  readonly clock: Clock;
  readonly steadyClock: Clock;
  readonly random: Random;
  readonly jitter: () => number;
  readonly pace: Pace;
  readonly log: Log;
}

/** Sends pings, delivers them to devices and keeps their results. */
export interface PingService {
  readonly pings: Pings;
  readonly results: PingResults;
  /** The public key that browsers subscribe with. */
  readonly webPushKey: string;
  /** Starts to deliver pings. */
  start(): void;
  /** Lets deliveries under way finish within the grace period. */
  stop(graceMs: number): Promise<void>;
}

export async function openPings(parts: PingsParts): Promise<PingService> {
  const { config, tidemark, clock, steadyClock, jitter, live } = parts;
  const { store } = tidemark;
  const { ping, limits } = config;
  const vapidKeys = await loadVapidKeys(store);
  const notifiers = openNotifiers({ ping, vapidKeys, live, clock, steadyClock, jitter });
  const { resultsMax, spreadPerS, concurrency, pushNotifyDelayMs: delayMs } = ping;
  const retentionMs = ping.resultsRetentionS * 1_000;
  const results = new PingResults({
    ...{ store, clock, retentionMs, resultsMax },
    caughtUpByMs: (client, heads) => tidemark.receipts.caughtUpByMs(client, heads),
  });
  // Identifies this process among all that send pings.
  const by = randomUUID();
  const isCaughtUp = (user: string, client: string, sources: readonly string[]) =>
    tidemark.receipts.isCaughtUp(user, client, sources);
  const isListening = (client: string) => live?.isListening(client) ?? false;
  const pings = new Pings({ ...parts, store, limits, results, by, spreadPerS, isCaughtUp, isListening });
  let running: { readonly delivery: JobRunner; readonly notices: RunningNotices } | null = null;
  return {
    pings,
    results,
    webPushKey: vapidKeys.publicKey,
    start() {
      const recent = new RecentPings(by);
      const delivery = startDelivery({ ...parts, notifiers, pings, results, recent, concurrency });
      running = { delivery, notices: startPushNotices({ ...parts, pings, delayMs }) };
    },
    async stop(graceMs) {
      await running?.notices.stop();
      await running?.delivery.stop(graceMs);
      notifiers.close();
    },
  };
}
