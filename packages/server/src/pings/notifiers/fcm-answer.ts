import type { PingOutcome } from '@tidemark/core';
import { failed, refused } from './outcomes.ts';

export interface FcmAnswer {
  readonly status: number;
  /** FCM's own word, else Google's general one; null when there is neither. */
  readonly code: string | null;
  readonly retryAfterMs: number | null;
}

/** Google asks for at least a minute when it says nothing itself. */
const QUOTA_WAIT_MS = 60_000;
/** Words about this device or this ping: the same again would be refused again. */
const FINAL: ReadonlySet<string> = new Set(['INVALID_ARGUMENT', 'SENDER_ID_MISMATCH', 'THIRD_PARTY_AUTH_ERROR']);

/** What becomes of a ping when FCM answers so. */
export function fcmOutcome({ status, code, retryAfterMs }: FcmAnswer): PingOutcome {
  const told = `FCM answered ${status}${code === null ? '' : ` ${code}`}`;
  if (status === 200) return { status: 'accepted' };
  if (code === 'UNREGISTERED') return { status: 'retired', reason: told };
  if (status === 400 || FINAL.has(code ?? '')) return refused(told);
  if (status === 429) return failed(told, { retryAfterMs: retryAfterMs ?? QUOTA_WAIT_MS, isServiceDown: true });
  // 401, 403 and 404 without one of the words above are about the account or the project.
  const isEverybodys = status >= 500 || [401, 403, 404].includes(status);
  return isEverybodys ? failed(told, { retryAfterMs, isServiceDown: true }) : refused(told);
}

export function fcmCode(body: string): string | null {
  const [, own] = /"errorCode"\s*:\s*"([A-Z_]{1,64})"/.exec(body) ?? [];
  const [, general] = /"status"\s*:\s*"([A-Z_]{1,64})"/.exec(body) ?? [];
  return own ?? general ?? null;
}
