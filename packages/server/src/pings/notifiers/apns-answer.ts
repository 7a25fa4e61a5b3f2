import type { PingOutcome } from '@tidemark/core';
import { failed, refused } from './outcomes.ts';

export interface ApnsAnswer {
  readonly status: number;
  /** Apple's word for what is wrong; null when it says none. */
  readonly reason: string | null;
  readonly retryAfterMs: number | null;
}

const GONE = 410;
const TOO_MANY_REQUESTS = 429;
const FORBIDDEN = 403;

/** Words about the operator's token, key or app: every device would get the same answer. */
const ABOUT_THE_OPERATOR: ReadonlySet<string> = new Set([
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
/** Words that hang on the moment, in answers that would otherwise be final. */
const PASSING: ReadonlySet<string> = new Set(['IdleTimeout']);

/** What becomes of a ping when Apple answers so. */
export function apnsOutcome({ status, reason, retryAfterMs }: ApnsAnswer): PingOutcome {
  const told = `APNs answered ${status}${reason === null ? '' : ` ${reason}`}`;
  if (status === 200) return { status: 'accepted' };
  // BadDeviceToken is not among them: a server set to the wrong environment gets it for every device there is.
  if (status === GONE || reason === 'Unregistered' || reason === 'ExpiredToken') {
    return { status: 'retired', reason: told };
  }
  if (status === FORBIDDEN || ABOUT_THE_OPERATOR.has(reason ?? '') || status >= 500) {
    return failed(told, { retryAfterMs, isServiceDown: true });
  }
  if (status === TOO_MANY_REQUESTS || PASSING.has(reason ?? '')) return failed(told, { retryAfterMs });
  return refused(told);
}

/** The word in the body `{"reason": "…"}`. What is no such word is not repeated. */
export function apnsReason(body: string): string | null {
  const [, reason] = /"reason"\s*:\s*"([A-Za-z]{1,64})"/.exec(body) ?? [];
  return reason ?? null;
}
