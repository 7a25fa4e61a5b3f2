import { randomUUID } from 'node:crypto';
import {
  type Clock,
  type Jobs,
  type Log,
  type Pace,
  PingResults,
  Pings,
  type Random,
  RecentPings,
  type Tidemark,
} from '@tidemark/core';
import type { Config } from '../config/config.ts';
import type { LiveDevices } from '../events/live-devices.ts';
import { keepVapidKeys } from './notifiers/keep-vapid-keys.ts';
import { openNotifiers } from './notifiers/open-notifiers.ts';
import { startDelivery } from './start-delivery.ts';
import { startPushNotices } from './start-push-notices.ts';

export interface PingsParts {
  readonly config: Config;
  readonly tidemark: Tidemark;
  readonly jobs: Jobs;
  /** Null: no device can hold a connection open here. */
  readonly live: LiveDevices | null;
  /** Told of every caller whose ping was counted here. */
  readonly onCounted?: (caller: string) => void;
  readonly clock: Clock;
  readonly steadyClock: Clock;
  readonly random: Random;
  readonly dice: () => number;
  readonly pace: Pace;
  readonly log: Log;
}

export interface OpenPings {
  readonly pings: Pings;
  readonly results: PingResults;
  /** The public key that browsers subscribe with. */
  readonly webPushKey: string;
  /** Begins to carry pings. */
  start(): void;
  /** Lets what is under way finish within the grace. */
  stop(graceMs: number): Promise<void>;
}

/** Everything about pings: sending them, carrying them, telling what became of them. */
export async function openPings(parts: PingsParts): Promise<OpenPings> {
  const { config, tidemark, clock, steadyClock, dice, live } = parts;
  const { store } = tidemark;
  const { ping, limits } = config;
  const vapidKeys = await keepVapidKeys(store);
  const notifiers = openNotifiers({ ping, vapidKeys, live, clock, steadyClock, dice });
  const { resultsMax, spreadPerS, concurrency, pushNotifyDelayMs: delayMs } = ping;
  const results = new PingResults({ store, clock, retentionMs: ping.resultsRetentionS * 1_000, resultsMax });
  // No other process calls itself so.
  const by = randomUUID();
  const pings = new Pings({ ...parts, store, limits, results, by, spreadPerS });
  let stop: (graceMs: number) => Promise<void> = async () => undefined;
  return {
    pings,
    results,
    webPushKey: vapidKeys.publicKey,
    start() {
      const told = new RecentPings(by);
      const delivery = startDelivery({ ...parts, notifiers, pings, results, told, concurrency });
      const notices = startPushNotices({ ...parts, pings, delayMs });
      stop = async (graceMs) => {
        await notices.stop();
        await delivery.stop(graceMs);
      };
    },
    async stop(graceMs) {
      await stop(graceMs);
      notifiers.close();
    },
  };
}
