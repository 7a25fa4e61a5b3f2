import { type Clock, type PingMessage, type PingOutcome, type PingTarget, sha256 } from '@tidemark/core';
import { retryAfterMs } from '@tidemark/protocol';
import type { Timers } from '../../jobs/timers.ts';
import { apnsOutcome, apnsReason } from './apns-answer.ts';
import { APNS_PAYLOAD_BYTES_MAX, ApnsPayloads, apnsId, isAlert } from './apns-payload.ts';
import { collapseKey } from './collapse-key.ts';
import type { Http2Reply } from './http2-connection.ts';
import { Http2Connections } from './http2-connections.ts';
import { type ClosableNotifier, failed, refused } from './notifier.ts';
import { ProviderToken } from './provider-token.ts';

export type ApnsEnvironment = 'production' | 'sandbox';

export interface ApnsNotifierParts {
  /** The text of the .p8 file. */
  readonly key: string;
  readonly keyId: string;
  readonly teamId: string;
  /** Bundle ids by the app id of devices; the first one is for devices that name no app. */
  readonly topics: ReadonlyMap<string, string>;
  /** The environment of devices that name none. */
  readonly environment: ApnsEnvironment;
  /** How long Apple keeps a ping for an offline device. */
  readonly ttlS: number;
  readonly clock: Clock;
  /** Replaces Apple's servers. */
  readonly origins?: Readonly<Partial<Record<ApnsEnvironment, string>>>;
  readonly ca?: readonly string[] | undefined;
  readonly timeoutMs?: number;
  readonly timers?: Timers;
}

export interface ApnsNotifier extends ClosableNotifier {
  readonly connections: number;
}

const ORIGINS: Readonly<Record<ApnsEnvironment, string>> = {
  production: 'https://api.push.apple.com',
  sandbox: 'https://api.sandbox.push.apple.com',
};

/**
 * Together with one to the other environment at most four: Apple takes many connections of one caller for an attack.
 */
const CONNECTIONS_MAX = 3;
/** A connection may end between two requests; a request that Apple has certainly not seen is sent once more. */
const SENDS_MAX = 2;

/** Sends pings to Apple devices over HTTP/2, with a token signed by the operator's key. */
export function apnsNotifier(parts: ApnsNotifierParts): ApnsNotifier {
  const { clock, environment, origins = {}, ttlS } = parts;
  const token = new ProviderToken(parts);
  const payloads = new ApnsPayloads();
  const open = (at: ApnsEnvironment) =>
    new Http2Connections({
      ...parts,
      origin: origins[at] ?? ORIGINS[at],
      connectionsMax: at === environment ? CONNECTIONS_MAX : 1,
    });
  const services = { production: open('production'), sandbox: open('sandbox') };

  return {
    async notify(target, ping): Promise<PingOutcome> {
      const topic = topicOf(parts.topics, target);
      if (topic === null) return refused('no bundle id is configured for the app of the device');
      if (!isApnsToken(target.devicePin)) return refused('device_pin is not a device token of APNs');
      const payload = payloads.of(ping);
      if (payload === null)
        return refused(`the ping is larger than the ${APNS_PAYLOAD_BYTES_MAX} bytes that APNs accepts`);
      const made = token.text();
      const bearer = typeof made === 'string' ? made : await made;
      const expiresAtS = Math.floor(clock.nowMs() / 1_000) + ttlS;
      const request = { headers: headersOf(target, ping, { topic, bearer, expiresAtS }), body: payload.body };
      const service = services[target.pushType === 'apns_sandbox' ? 'sandbox' : environment];
      const reply = await sendRepeatedly(() => service.send(request));
      const outcome = outcomeOf(reply, clock.nowMs(), token);
      return outcome.status === 'accepted' && payload.note !== undefined ? { ...outcome, note: payload.note } : outcome;
    },
    get connections() {
      return services.production.count + services.sandbox.count;
    },
    close() {
      for (const service of Object.values(services)) service.close();
    },
  };
}

/** Repeats a request that was certainly not sent. */
async function sendRepeatedly<R extends { readonly kind: string }>(send: () => Promise<R>): Promise<R> {
  let reply = await send();
  for (let sends = 1; sends < SENDS_MAX && reply.kind === 'not_sent'; sends++) reply = await send();
  return reply;
}

/** Apple guarantees no length; currently it is 64 digits. */
const TOKEN_DIGITS_MIN = 16;
const TOKEN_DIGITS_MAX = 200;

function isApnsToken(pin: string): boolean {
  const { length } = pin;
  return length >= TOKEN_DIGITS_MIN && length <= TOKEN_DIGITS_MAX && length % 2 === 0 && /^[0-9A-Fa-f]+$/.test(pin);
}

function topicOf(topics: ReadonlyMap<string, string>, { appId }: PingTarget): string | null {
  if (appId === null || appId === '') return [...topics.values()][0] ?? null;
  return topics.get(appId) ?? null;
}

function headersOf(
  { devicePin }: PingTarget,
  ping: PingMessage,
  { topic, bearer, expiresAtS }: { readonly topic: string; readonly bearer: string; readonly expiresAtS: number },
) {
  const isSeen = isAlert(ping);
  const digest = sha256(ping.id, 'hex');
  return {
    ':method': 'POST',
    ':path': `/3/device/${devicePin}`,
    authorization: `bearer ${bearer}`,
    'apns-topic': topic,
    'apns-push-type': isSeen ? 'alert' : 'background',
    // Apple refuses background pushes that claim to be urgent.
    'apns-priority': isSeen ? '10' : '5',
    'apns-expiration': String(expiresAtS),
    'apns-id': apnsId(digest),
    'apns-collapse-id': collapseKey(ping, digest),
    'content-type': 'application/json',
  };
}

function outcomeOf(reply: Http2Reply, nowMs: number, token: ProviderToken): PingOutcome {
  switch (reply.kind) {
    case 'not_sent':
      return failed(`APNs cannot be reached: ${reply.reason}`, { isServiceDown: true });
    case 'lost':
      return failed(`APNs did not answer: ${reply.reason}`, { isServiceDown: true, isAnswerLost: true });
    case 'answered': {
      const reason = apnsReason(reply.body);
      if (reason === 'ExpiredProviderToken') token.expire();
      return apnsOutcome({ status: reply.status, reason, retryAfterMs: retryAfterMs(reply.retryAfter, nowMs) });
    }
  }
}
