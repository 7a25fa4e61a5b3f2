import type { Clock, Notifier, PingMessage, PingOutcome, PingTarget } from '@tidemark/core';
import { systemTimers, type Timers } from '../../jobs/timers.ts';
import { retryAfterMs } from '../../outbound/retry-after-ms.ts';
import { signWebhook } from '../../outbound/sign-webhook.ts';
import { failed } from './outcomes.ts';

export interface WebhookNotifierParts {
  readonly url: string;
  /** Shared with whoever is at the URL. */
  readonly secret: string;
  readonly clock: Clock;
  /** For the whole exchange. */
  readonly timeoutMs?: number;
  readonly timers?: Timers;
}

const TIMEOUT_MS = 10_000;
/** Read of an answer, so that the connection can be used again; what is longer is cut off. */
const ANSWER_BYTES_MAX = 16_384;
/** Those whose sender would have to change what it says: the same again would be refused again. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([400, 413, 415, 422]);
const TOO_MANY = 429;
/** What goes wrong before anything has been sent. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const GONE = 410;

/**
 * Hands pings to a gateway of the operator's by POST, signed as Standard Webhooks says. 2xx: accepted. 410: the address
 * is dead. Everything else has failed. Redirects are not followed: the address of a device goes where the operator said
 * and nowhere else.
 */
export function webhookNotifier(parts: WebhookNotifierParts): Notifier {
  const { clock, timeoutMs = TIMEOUT_MS, timers = systemTimers } = parts;
  return {
    async notify(target, ping): Promise<PingOutcome> {
      const controller = new AbortController();
      const cancel = timers.after(timeoutMs, () => controller.abort());
      try {
        return outcomeOf(await post(parts, bodyOf(target, ping), ping.id, controller.signal), clock.nowMs());
      } catch (error) {
        if (controller.signal.aborted) return lost(`no answer in ${timeoutMs} ms`);
        const cause = causeOf(error);
        const reason = `no connection: ${cause}`;
        return NOT_SENT.has(cause) ? failed(reason, { isServiceDown: true }) : lost(reason);
      } finally {
        cancel();
      }
    },
  };
}

/** In the words of the wire; what a ping does not say is absent. */
function bodyOf(target: PingTarget, { sources, message, badge, sound, vibrateS }: PingMessage): string {
  return JSON.stringify({
    type: 'ping',
    data: {
      client_id: target.client,
      device_type: target.deviceType,
      device_push_type: target.pushType,
      device_app_id: target.appId,
      device_pin: target.devicePin,
      device_port: target.devicePort,
      sources,
      message,
      badge,
      sound,
      vibrate: vibrateS,
    },
  });
}

async function post(
  { url, secret, clock }: WebhookNotifierParts,
  body: string,
  id: string,
  signal: AbortSignal,
): Promise<Response> {
  // Signed anew at every attempt, since a receiver does not take what is old; the id tells it that it is the same.
  const signature = signWebhook(secret, { id, timestampS: Math.floor(clock.nowMs() / 1_000), body });
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'tidemark', ...signature },
    body,
    redirect: 'manual',
    signal,
  });
  await readAway(response);
  return response;
}

async function readAway(response: Response): Promise<void> {
  let left = ANSWER_BYTES_MAX;
  for await (const chunk of response.body ?? []) {
    left -= chunk.length;
    if (left < 0) break;
  }
}

function outcomeOf({ status, headers }: Response, nowMs: number): PingOutcome {
  if (status >= 200 && status < 300) return { status: 'accepted' };
  if (status === GONE) return { status: 'retired', reason: 'the webhook says that the device is gone' };
  const reason =
    status >= 300 && status < 400 ? 'the webhook redirects, which is not followed' : `the webhook answered ${status}`;
  const details = {
    retryAfterMs: retryAfterMs(headers.get('retry-after'), nowMs),
    isFinal: FINAL_STATUSES.has(status),
  };
  return failed(reason, status === TOO_MANY || status >= 500 ? { ...details, isServiceDown: true } : details);
}

/** The webhook may have taken it all the same. */
function lost(reason: string): PingOutcome {
  return failed(reason, { isServiceDown: true, isAnswerLost: true });
}

/** The code of the system, never the message: that may contain the URL. */
function causeOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? code : 'it broke';
}
