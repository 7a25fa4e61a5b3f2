import { REFRESH_WAIT_MS_MAX } from '@tidemark/protocol';
import { elapsedMs } from '../ports/clock.ts';
import type { RefreshState } from './refresh-state.ts';

const WAIT_MS = 5_000;
const MS_PER_S = 1_000;

export interface DueFacts {
  readonly nowMs: number;
  /** -1: never by itself. 0: always. */
  readonly pollIntervalS: number;
  /** When somebody said it should be; null: nobody has, or it was done since. */
  readonly refreshAtMs: number | null;
  readonly state: Pick<RefreshState, 'atMs' | 'failures' | 'retryAtMs' | 'freshUntilMs'>;
}

/** Whether the backend is to be asked now. What somebody said explicitly wins, also over the wait after a failure. */
export function isDue({ nowMs, pollIntervalS, refreshAtMs, state }: DueFacts): boolean {
  if (refreshAtMs !== null) return refreshAtMs <= nowMs;
  if (state.failures > 0) return state.retryAtMs <= nowMs;
  if (pollIntervalS < 0 || nowMs < state.freshUntilMs) return false;
  return state.atMs === null || elapsedMs(state.atMs, nowMs) >= pollIntervalS * MS_PER_S;
}

/** How long the backend is left alone after so many failures in a row. `fraction` spreads those that failed together. */
export function waitAfterMs(failures: number, fraction: number): number {
  const ceilingMs = Math.min(REFRESH_WAIT_MS_MAX, WAIT_MS * 2 ** Math.min(failures - 1, 16));
  return Math.ceil(ceilingMs * (0.5 + fraction / 2));
}
