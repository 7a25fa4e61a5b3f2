import type { Clock, Notifier, PingMessage, PingOutcome, PingTarget } from '@tidemark/core';
import { retryAfterMs } from '@tidemark/protocol';
import { systemTimers, type Timers } from '../../jobs/timers.ts';
import { signWebhook } from '../../outbound/sign-webhook.ts';
import { failed } from './notifier.ts';

export interface WebhookNotifierParts {
  readonly url: string;
  /** Shared with the receiver. */
  readonly secret: string;
  readonly clock: Clock;
  /** For the whole exchange. */
  readonly timeoutMs?: number;
  readonly timers?: Timers;
}

const TIMEOUT_MS = 10_000;
/** Bytes that are read of an answer, so that the connection can be used again; longer answers are cut off. */
const ANSWER_BYTES_MAX = 16_384;
/** Statuses after which a retry would be refused again. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([400, 413, 415, 422]);
const TOO_MANY = 429;
/** Errors that occur before anything has been sent. */
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
 * Posts pings to a gateway of the operator, signed as defined by Standard Webhooks. 2xx: accepted. 410: the address
 * is dead. All else is a failure. Redirects are not followed, so that device addresses only go where the operator has
 * configured.
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

/** Members that the ping does not have are absent. */
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
  // Signed again at every attempt, because receivers refuse old timestamps; the id shows that it is the same ping.
  const signature = signWebhook(secret, { id, timestampS: Math.floor(clock.nowMs() / 1_000), body });
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'tidemark', ...signature },
    body,
    redirect: 'manual',
    signal,
  });
  await discardBody(response);
  return response;
}

async function discardBody(response: Response): Promise<void> {
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

/** The receiver may have processed the request. */
function lost(reason: string): PingOutcome {
  return failed(reason, { isServiceDown: true, isAnswerLost: true });
}

/** Returns the system code and never the message, which may contain the URL. */
function causeOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? code : 'it broke';
}
