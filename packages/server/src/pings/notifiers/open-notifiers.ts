import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { Clock, Notifier, PingOutcome } from '@tidemark/core';
import { type PushService, pushServiceOf } from '@tidemark/protocol';
import { ConfigProblem } from '../../config/config-problem.ts';
import type { PingConfig } from '../../config/ping-config.ts';
import type { LiveDevices } from '../../events/event-hub.ts';
import { apnsNotifier } from './apns-notifier.ts';
import { fcmNotifier } from './fcm-notifier.ts';
import { liveFirst, liveNotifier } from './live-notifier.ts';
import { type ClosableNotifier, refused } from './notifier.ts';
import { ServiceGate } from './service-gate.ts';
import type { VapidKeys } from './vapid.ts';
import { webPushNotifier } from './web-push-notifier.ts';
import { webhookNotifier } from './webhook-notifier.ts';

interface NotifiersParts {
  readonly ping: PingConfig;
  readonly vapidKeys: VapidKeys;
  /** Null: this server has no event streams. */
  readonly live: LiveDevices | null;
  readonly clock: Clock;
  /** Measures durations: it is never set. */
  readonly steadyClock: Clock;
  readonly jitter: () => number;
}

export interface Notifiers {
  /** Sends a ping by the service of its device. */
  readonly notifier: Notifier;
  readonly gates: Readonly<Record<PushService, ServiceGate>>;
  close(): void;
}

/** Opens all configured push services, each with its own gate, and a gate for those that are not configured. */
export function openNotifiers({ ping, vapidKeys, live, clock, steadyClock, jitter }: NotifiersParts): Notifiers {
  const common = { clock, steadyClock, jitter, ttlS: ping.ttlS, ca: trusted(ping.caFile) };
  const closable: Partial<Record<PushService, ClosableNotifier>> = {
    ...(ping.apns === null
      ? {}
      : { apns: apnsNotifier({ ...common, ...ping.apns, origins: originsOf(ping.apns.url) }) }),
    ...(ping.fcm === null ? {} : { fcm: fcmNotifier({ ...common, ...ping.fcm, ...originOf(ping.fcm.url) }) }),
    webpush: webPushNotifier({
      ...common,
      ...ping.webPush,
      keys: vapidKeys,
      addressRules: { denyPrivate: !ping.webPush.allowPrivate },
    }),
  };
  const services: Partial<Record<PushService, Notifier>> = {
    ...closable,
    ...webhookOf(ping, clock),
    ...(live === null ? {} : { live: liveNotifier(live) }),
  };
  const newGate = () => new ServiceGate({ clock: steadyClock, jitter, perSecondMax: ping.ratePerS });
  const webhook = newGate();
  // Services that are not configured are served by the webhook, so they share its gate.
  const gateOf = (service: PushService) => (services[service] === undefined ? webhook : newGate());
  const gates = {
    apns: gateOf('apns'),
    fcm: gateOf('fcm'),
    webpush: gateOf('webpush'),
    live: gateOf('live'),
    webhook,
  };
  const guarded = Object.entries(services).map(([name, notifier]) => [
    name,
    gates[name as PushService].watch(notifier),
  ]);
  const chosen = choosingNotifier(Object.fromEntries(guarded));
  return {
    notifier: live === null ? chosen : liveFirst(live, chosen),
    gates,
    close() {
      for (const notifier of Object.values(closable)) notifier.close();
    },
  };
}

function webhookOf({ webhookUrl: url, webhookSecret: secret }: PingConfig, clock: Clock): { webhook?: Notifier } {
  return url === null || secret === null ? {} : { webhook: webhookNotifier({ url, secret, clock }) };
}

export function originsOf(url: string | null): Readonly<Record<string, string>> {
  return url === null ? {} : { production: url, sandbox: url };
}

export function originOf(url: string | null): { readonly origin?: string } {
  return url === null ? {} : { origin: url };
}

/** Undefined: the certificates of the system. Given certificates would replace those, so both are returned. */
export function trusted(file: string | null): readonly string[] | undefined {
  if (file === null) return undefined;
  try {
    return [...rootCertificates, readFileSync(file, 'utf8')];
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    const detail = `ping.ca_file: ${file} cannot be read (${code})`;
    throw new ConfigProblem([{ setting: 'ping.ca_file', origin: 'ping.ca_file', detail }]);
  }
}

type ServiceNotifiers = Readonly<Partial<Record<PushService, Notifier>>>;

/**
 * Sends each ping by the push service of its device. If that is not configured, the operator's webhook gets it; if
 * there is no webhook either, the ping is refused.
 */
export function choosingNotifier(services: ServiceNotifiers): Notifier {
  return {
    notify(target, ping): Promise<PingOutcome> {
      const service = pushServiceOf(target.pushType);
      const notifier = services[service] ?? services.webhook;
      if (notifier !== undefined) return notifier.notify(target, ping);
      return Promise.resolve(refused(`${service} is not configured`));
    },
  };
}
