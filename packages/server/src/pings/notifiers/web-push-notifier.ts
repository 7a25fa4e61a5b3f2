import { Agent } from 'node:https';
import {
  BoundedMap,
  type Clock,
  type PingMessage,
  type PingOutcome,
  readSubscription,
  type Subscription,
} from '@tidemark/core';
import { retryAfterMs } from '@tidemark/protocol';
import { isListed } from '../../config/host-list.ts';
import type { Timers } from '../../jobs/timers.ts';
import {
  type AddressRules,
  blockedHost,
  checkedLookup,
  type Resolve,
  systemResolve,
} from '../../outbound/checked-lookup.ts';
import { CircuitBreaker, type CircuitBreakerParts } from '../../outbound/circuit-breaker.ts';
import { collapseKey } from './collapse-key.ts';
import { encryptPayload, WEB_PUSH_PAYLOAD_BYTES_MAX } from './encrypt-payload.ts';
import { type FittedMessage, fitMessage } from './fit-message.ts';
import { type HttpsReply, httpsExchange } from './https-exchange.ts';
import { type ClosableNotifier, failed, refused } from './notifier.ts';
import { Vapid, type VapidKeys } from './vapid.ts';

export interface WebPushNotifierParts {
  readonly keys: VapidKeys;
  readonly subject: string | null;
  /** Push services that may be called. Endpoints come from devices, which are not trusted. */
  readonly hosts: readonly string[];
  readonly addressRules: AddressRules;
  /** How long the push service keeps a ping for an offline browser. */
  readonly ttlS: number;
  readonly clock: Clock;
  /** Measures durations: it is never set. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly jitter: () => number;
  readonly ca?: readonly string[] | undefined;
  readonly timeoutMs?: number;
  readonly timers?: Timers;
  readonly resolve?: Resolve;
}

const TIMEOUT_MS = 10_000;
const SOCKETS_PER_SERVICE_MAX = 32;
const SOCKETS_MAX = 256;
/** Push services that have a circuit breaker at once. */
const SERVICES_MAX = 1_000;
const GONE: ReadonlySet<number> = new Set([404, 410]);
const TOO_MANY_REQUESTS = 429;

/**
 * Sends pings to browsers by the push service of their subscription (RFC 8030), encrypted for the browser. Each push
 * service has its own circuit breaker.
 */
export function webPushNotifier(parts: WebPushNotifierParts): ClosableNotifier {
  const { clock, hosts, addressRules, timeoutMs = TIMEOUT_MS } = parts;
  const vapid = new Vapid(parts);
  const breakers = new Breakers(parts);
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_PER_SERVICE_MAX, maxTotalSockets: SOCKETS_MAX });
  const lookup = checkedLookup(parts.resolve ?? systemResolve, addressRules);

  async function send(subscription: Subscription, ping: PingMessage, content: Buffer): Promise<HttpsReply> {
    const { origin } = new URL(subscription.endpoint);
    const headers = { ...headersOf(ping, parts.ttlS), authorization: await vapid.authorization(origin) };
    const { ca, timers } = parts;
    const call = { url: subscription.endpoint, headers, body: content, agent, ca, lookup, timeoutMs };
    return httpsExchange({ ...call, ...(timers === undefined ? {} : { timers }) });
  }

  function objectionTo(service: URL): string | null {
    if (!isListed(hosts, service.hostname)) return 'the push service of the subscription is not allowed';
    const isBlocked = blockedHost(service, addressRules) !== null;
    return isBlocked ? 'the push service is at an address that is not allowed' : null;
  }

  return {
    async notify({ devicePin }, ping): Promise<PingOutcome> {
      const subscription = readSubscription(devicePin);
      if (subscription === null) return refused('device_pin is not a push subscription');
      const url = new URL(subscription.endpoint);
      const objection = objectionTo(url);
      if (objection !== null) return refused(objection);
      const payload = webPushPayload(ping);
      if (payload === null)
        return refused(`the ping is larger than the ${WEB_PUSH_PAYLOAD_BYTES_MAX} bytes that a push service accepts`);
      const content = encrypted(payload.body, subscription);
      if (content === null) return refused('the key p256dh of the subscription is not valid');
      const permit = breakers.of(url.origin).acquire();
      if (typeof permit === 'number') return failed('the push service is down', { retryAfterMs: permit });
      try {
        const outcome = outcomeOf(await send(subscription, ping, content), clock.nowMs());
        if (outcome.status === 'failed' && !outcome.isFinal) permit.fail(outcome.retryAfterMs);
        else permit.succeed();
        return withNote(outcome, payload.note);
      } finally {
        // Nothing was sent, so there is no result for the breaker.
        permit.giveBack();
      }
    },
    close: () => agent.destroy(),
  };
}

function withNote(outcome: PingOutcome, note: string | undefined): PingOutcome {
  return outcome.status === 'accepted' && note !== undefined ? { ...outcome, note } : outcome;
}

/** Returns the payload for the service worker of the app, or null if it is too large. */
function webPushPayload({ id, sources, message, badge, sound, vibrateS }: PingMessage): FittedMessage | null {
  return fitMessage(message, WEB_PUSH_PAYLOAD_BYTES_MAX, (text) =>
    JSON.stringify({ ping_id: id, do_sync: sources, message: text, badge, sound, vibrate: vibrateS }),
  );
}

function encrypted(payload: string, subscription: Subscription): Buffer | null {
  try {
    return encryptPayload(payload, subscription);
  } catch {
    return null;
  }
}

function headersOf(ping: PingMessage, ttlS: number): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/octet-stream',
    'content-encoding': 'aes128gcm',
    ttl: String(ttlS),
    urgency: ping.message === undefined ? 'normal' : 'high',
    topic: collapseKey(ping),
  };
}

function outcomeOf(reply: HttpsReply, nowMs: number): PingOutcome {
  if (reply.kind === 'not_sent') return failed(`the push service cannot be reached: ${reply.reason}`);
  if (reply.kind === 'lost') return failed(`the push service did not answer: ${reply.reason}`, { isAnswerLost: true });
  const { status } = reply;
  const answered = `the push service answered ${status}`;
  if (status >= 200 && status < 300) return { status: 'accepted' };
  if (GONE.has(status)) return { status: 'retired', reason: answered };
  const waitMs = retryAfterMs(reply.retryAfter, nowMs);
  if (status === TOO_MANY_REQUESTS || status >= 500) return failed(answered, { retryAfterMs: waitMs });
  return refused(status >= 300 && status < 400 ? 'the push service redirects, which is not followed' : answered);
}

class Breakers {
  readonly #parts: CircuitBreakerParts;
  readonly #breakers = new BoundedMap<string, CircuitBreaker>(SERVICES_MAX);

  constructor({ clock, steadyClock = clock, jitter }: Pick<WebPushNotifierParts, 'clock' | 'steadyClock' | 'jitter'>) {
    this.#parts = { clock: steadyClock, jitter };
  }

  of(origin: string): CircuitBreaker {
    const breaker = this.#breakers.get(origin) ?? new CircuitBreaker(this.#parts);
    // Setting it again makes it the most recently used one.
    this.#breakers.set(origin, breaker);
    return breaker;
  }
}
