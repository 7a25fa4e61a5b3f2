import type { PingOutcome } from '@tidemark/core';
import { failed, refused } from './outcomes.ts';

export interface FcmAnswer {
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
export function fcmOutcome({ status, code, retryAfterMs }: FcmAnswer): PingOutcome {
  const told = `FCM answered ${status}${code === null ? '' : ` ${code}`}`;
  if (status === 200) return { status: 'accepted' };
  if (code === 'UNREGISTERED') return { status: 'retired', reason: told };
  if (status === 400 || FINAL.has(code ?? '')) return refused(told);
  if (status === 429) return failed(told, { retryAfterMs: retryAfterMs ?? QUOTA_WAIT_MS, isServiceDown: true });
  // 401, 403 and 404 without one of the codes above concern the account or the project.
  const concernsAll = status >= 500 || [401, 403, 404].includes(status);
  return concernsAll ? failed(told, { retryAfterMs, isServiceDown: true }) : refused(told);
}

export function fcmCode(body: string): string | null {
  const [, own] = /"errorCode"\s*:\s*"([A-Z_]{1,64})"/.exec(body) ?? [];
  const [, general] = /"status"\s*:\s*"([A-Z_]{1,64})"/.exec(body) ?? [];
  return own ?? general ?? null;
}
