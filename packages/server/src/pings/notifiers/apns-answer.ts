import type { PingOutcome } from '@tidemark/core';
import { failed, refused } from './notifier.ts';

export interface ApnsAnswer {
  readonly status: number;
  /** The reason that Apple gives, or null. */
  readonly reason: string | null;
  readonly retryAfterMs: number | null;
}

const GONE = 410;
const TOO_MANY_REQUESTS = 429;
const FORBIDDEN = 403;

/** Reasons that concern the token, key or app of the operator, so every device would get the same answer. */
const OPERATOR_REASONS: ReadonlySet<string> = new Set([
  'TooManyProviderTokenUpdates',
  'BadCertificate',
  'BadCertificateEnvironment',
  'ExpiredProviderToken',
  'Forbidden',
  'InvalidProviderToken',
  'MissingProviderToken',
  'UnrelatedKeyIdInToken',
  'BadEnvironmentKeyInToken',
  'TopicDisallowed',
]);
/** Temporary reasons in answers that would otherwise be final. */
const TEMPORARY_REASONS: ReadonlySet<string> = new Set(['IdleTimeout']);

/** Maps an answer of Apple to the outcome of a ping. */
export function apnsOutcome({ status, reason, retryAfterMs }: ApnsAnswer): PingOutcome {
  const detail = `APNs answered ${status}${reason === null ? '' : ` ${reason}`}`;
  if (status === 200) return { status: 'accepted' };
  // Not BadDeviceToken: a server with the wrong environment gets it for every device.
  if (status === GONE || reason === 'Unregistered' || reason === 'ExpiredToken') {
    return { status: 'retired', reason: detail };
  }
  if (status === FORBIDDEN || OPERATOR_REASONS.has(reason ?? '') || status >= 500) {
    return failed(detail, { retryAfterMs, isServiceDown: true });
  }
  if (status === TOO_MANY_REQUESTS || TEMPORARY_REASONS.has(reason ?? '')) return failed(detail, { retryAfterMs });
  return refused(detail);
}

/** Returns the reason in the body `{"reason": "…"}`, if it is a plain word. */
export function apnsReason(body: string): string | null {
  const [, reason] = /"reason"\s*:\s*"([A-Za-z]{1,64})"/.exec(body) ?? [];
  return reason ?? null;
}
