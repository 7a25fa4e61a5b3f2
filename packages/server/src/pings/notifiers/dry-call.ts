import type { Clock, Notifier, PingOutcome, PingTarget } from '@tidemark/core';
import type { PushService } from '@tidemark/protocol';
import type { PingConfig } from '../../config/ping-config.ts';
import { apnsNotifier } from './apns-notifier.ts';
import type { ClosableNotifier } from './closable-notifier.ts';
import { fcmNotifier } from './fcm-notifier.ts';
import { originOf, originsOf, trusted } from './open-notifiers.ts';

export interface DryOutcome {
  readonly service: PushService;
  /** Whether the service takes the operator's keys. */
  readonly isTaken: boolean;
  readonly detail: string;
}

/** No device has it. */
const NOBODY = '0'.repeat(64);
const PING = { id: 'dry', sources: [] };

/**
 * Asks the services that are configured whether they take the operator's keys, with a ping for a device that does not
 * exist: a service that complains about the device has taken the keys. Browsers' services cannot be asked so.
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
  const isTaken = outcome.status !== 'failed' || (outcome.isFinal && outcome.isServiceDown !== true);
  const about = appId === null ? '' : ` for ${appId}`;
  return {
    service,
    isTaken,
    detail: `${isTaken ? 'takes the keys' : 'does not take the keys'}${about} (${told(outcome)})`,
  };
}

function nobody(service: 'apns' | 'fcm', appId: string | null): PingTarget {
  return { client: 'nobody', deviceType: 'none', pushType: service, devicePin: NOBODY, devicePort: null, appId };
}

function told(outcome: PingOutcome): string {
  return 'reason' in outcome ? outcome.reason : outcome.status;
}
