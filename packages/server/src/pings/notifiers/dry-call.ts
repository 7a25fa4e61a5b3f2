import type { Clock, Notifier, PingOutcome, PingTarget } from '@tidemark/core';
import type { PushService } from '@tidemark/protocol';
import type { PingConfig } from '../../config/ping-config.ts';
import { apnsNotifier } from './apns-notifier.ts';
import { fcmNotifier } from './fcm-notifier.ts';
import type { ClosableNotifier } from './notifier.ts';
import { originOf, originsOf, trusted } from './open-notifiers.ts';

export interface DryOutcome {
  readonly service: PushService;
  /** True if the service accepts the operator's keys. */
  readonly isAccepted: boolean;
  readonly detail: string;
}

/** A device token that no device has. */
const UNKNOWN_DEVICE = '0'.repeat(64);
const PING = { id: 'dry', sources: [] };

/**
 * Checks whether the configured services accept the operator's keys, by a ping to a device that does not exist: a
 * service that complains about the device has accepted the keys. Push services of browsers cannot be checked this
 * way.
 */
export async function dryCall(ping: PingConfig, clock: Clock): Promise<readonly DryOutcome[]> {
  const common = { clock, ttlS: 0, ca: trusted(ping.caFile) };
  const outcomes: DryOutcome[] = [];
  if (ping.apns !== null) {
    const notifier = apnsNotifier({ ...common, ...ping.apns, origins: originsOf(ping.apns.url) });
    for (const appId of ping.apns.topics.keys()) outcomes.push(await ask('apns', notifier, appId));
    notifier.close();
  }
  if (ping.fcm !== null) {
    const notifier = fcmNotifier({ ...common, ...ping.fcm, ...originOf(ping.fcm.url), isDry: true });
    outcomes.push(await ask('fcm', notifier, null));
    notifier.close();
  }
  return outcomes;
}

async function ask(
  service: 'apns' | 'fcm',
  notifier: Notifier & ClosableNotifier,
  appId: string | null,
): Promise<DryOutcome> {
  const outcome = await notifier.notify(nobody(service, appId), PING);
  const isAccepted = outcome.status !== 'failed' || (outcome.isFinal && outcome.isServiceDown !== true);
  const about = appId === null ? '' : ` for ${appId}`;
  return {
    service,
    isAccepted,
    detail: `${isAccepted ? 'accepts the keys' : 'does not accept the keys'}${about} (${outcomeText(outcome)})`,
  };
}

function nobody(service: 'apns' | 'fcm', appId: string | null): PingTarget {
  return {
    client: 'nobody',
    deviceType: 'none',
    pushType: service,
    devicePin: UNKNOWN_DEVICE,
    devicePort: null,
    appId,
  };
}

function outcomeText(outcome: PingOutcome): string {
  return 'reason' in outcome ? outcome.reason : outcome.status;
}
