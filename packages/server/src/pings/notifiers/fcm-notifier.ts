import type { Clock, PingOutcome } from '@tidemark/core';
import { retryAfterMs } from '@tidemark/protocol';
import type { ServiceAccount } from '../../config/push-keys.ts';
import type { Timers } from '../../jobs/timers.ts';
import { AccessToken, NoAccessToken } from './access-token.ts';
import { FCM_PAYLOAD_BYTES_MAX, fcmMessage } from './fcm-message.ts';
import type { Http2Reply } from './http2-connection.ts';
import { Http2Connections } from './http2-connections.ts';
import { type ClosableNotifier, failed, refused } from './notifier.ts';

export interface FcmNotifierParts {
  readonly account: ServiceAccount;
  /** How long FCM keeps a ping for an offline device. */
  readonly ttlS: number;
  readonly clock: Clock;
  /** Replaces Google's server. */
  readonly origin?: string;
  /** True: FCM validates pings and sends none. */
  readonly isDry?: boolean;
  readonly ca?: readonly string[] | undefined;
  readonly timeoutMs?: number;
  readonly timers?: Timers;
}

const ORIGIN = 'https://fcm.googleapis.com';
const TIMEOUT_MS = 10_000;
const UNAUTHORIZED = 401;

/** Sends pings by Firebase Cloud Messaging, with the HTTP v1 API and an OAuth token of the service account. */
export function fcmNotifier(parts: FcmNotifierParts): ClosableNotifier {
  const { account, clock, ttlS, origin = ORIGIN, timeoutMs = TIMEOUT_MS } = parts;
  const token = new AccessToken({ ...parts, timeoutMs });
  const service = new Http2Connections({ ...parts, origin, timeoutMs });
  const path = `/v1/projects/${encodeURIComponent(account.projectId)}/messages:send`;

  async function send(body: string): Promise<PingOutcome> {
    const bearer = await token.text();
    const headers = {
      ':method': 'POST',
      ':path': path,
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
    };
    const reply = await service.send({ headers, body: parts.isDry === true ? dry(body) : body });
    if (reply.kind === 'answered' && reply.status === UNAUTHORIZED) token.expire(bearer);
    return outcomeOf(reply, clock.nowMs());
  }

  return {
    async notify(target, ping): Promise<PingOutcome> {
      const message = fcmMessage(target, ping, ttlS);
      if (message === null)
        return refused(`the ping is larger than the ${FCM_PAYLOAD_BYTES_MAX} bytes that FCM accepts`);
      try {
        const outcome = await send(message.body);
        return outcome.status === 'accepted' && message.note !== undefined
          ? { ...outcome, note: message.note }
          : outcome;
      } catch (error) {
        if (!(error instanceof NoAccessToken)) throw error;
        return failed(`FCM: ${error.message}`, { retryAfterMs: error.retryAfterMs, isServiceDown: true });
      }
    },
    close: () => service.close(),
  };
}

function dry(body: string): string {
  return `${body.slice(0, -1)},"validate_only":true}`;
}

function outcomeOf(reply: Http2Reply, nowMs: number): PingOutcome {
  switch (reply.kind) {
    case 'not_sent':
      return failed(`FCM cannot be reached: ${reply.reason}`, { isServiceDown: true });
    case 'lost':
      return failed(`FCM did not answer: ${reply.reason}`, { isServiceDown: true, isAnswerLost: true });
    case 'answered': {
      const { status, body, retryAfter } = reply;
      return fcmOutcome({ status, code: fcmCode(body), retryAfterMs: retryAfterMs(retryAfter, nowMs) });
    }
  }
}

interface FcmAnswer {
  readonly status: number;
  /** The error code of FCM, else the general one of Google; null if there is neither. */
  readonly code: string | null;
  readonly retryAfterMs: number | null;
}

/** The minimum wait that Google asks for if the answer names none. */
const QUOTA_WAIT_MS = 60_000;
/** Codes that concern this device or ping, so that a retry would fail again. */
const FINAL: ReadonlySet<string> = new Set(['INVALID_ARGUMENT', 'SENDER_ID_MISMATCH', 'THIRD_PARTY_AUTH_ERROR']);

/** Maps an answer of FCM to the outcome of a ping. */
function fcmOutcome({ status, code, retryAfterMs }: FcmAnswer): PingOutcome {
  const reason = `FCM answered ${status}${code === null ? '' : ` ${code}`}`;
  if (status === 200) return { status: 'accepted' };
  if (code === 'UNREGISTERED') return { status: 'retired', reason: reason };
  if (status === 400 || FINAL.has(code ?? '')) return refused(reason);
  if (status === 429) return failed(reason, { retryAfterMs: retryAfterMs ?? QUOTA_WAIT_MS, isServiceDown: true });
  // 401, 403 and 404 without one of the codes above concern the account or the project.
  const concernsAll = status >= 500 || [401, 403, 404].includes(status);
  return concernsAll ? failed(reason, { retryAfterMs, isServiceDown: true }) : refused(reason);
}

function fcmCode(body: string): string | null {
  const [, own] = /"errorCode"\s*:\s*"([A-Z_]{1,64})"/.exec(body) ?? [];
  const [, general] = /"status"\s*:\s*"([A-Z_]{1,64})"/.exec(body) ?? [];
  return own ?? general ?? null;
}
