import type { Notifier, PingOutcome } from '@tidemark/core';
import { type PushService, pushServiceOf } from '@tidemark/protocol';
import { refused } from './outcomes.ts';

export type ServiceNotifiers = Readonly<Partial<Record<PushService, Notifier>>>;

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
