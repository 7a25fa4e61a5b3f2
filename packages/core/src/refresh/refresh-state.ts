import { type PartialError, parseJson, REFRESH_WAIT_MS_MAX } from '@tidemark/protocol';
import { elapsedMs, isAhead } from '../ports/clock.ts';

/** What is stored of the refreshes of one partition. */
export interface RefreshState {
  /** When the last successful query began; null: there was none. */
  readonly atMs: number | null;
  /** The partition is not due by itself before this, because devices are about to pull what a late refresh brought. */
  readonly freshUntilMs: number;
  /** Failed refreshes in a row. */
  readonly failures: number;
  /** After failures, when to try again. */
  readonly retryAtMs: number;
  /** Why the last refresh failed; null: it did not. */
  readonly trouble: PartialError | null;
  /** When the lease of the refresh ends; 0: there is none. */
  readonly leaseUntilMs: number;
  /** Identifies the holder of the lease: the id of its server, a dot, and a random part. */
  readonly leaseHolder: string;
  /** Until when a queued job is expected to refresh the partition; 0: there is no job. */
  readonly queuedUntilMs: number;
  /** When this was written, by the clock that also set the times above. */
  readonly writtenAtMs: number;
}

export const NEVER_REFRESHED: RefreshState = {
  atMs: null,
  freshUntilMs: 0,
  failures: 0,
  retryAtMs: 0,
  trouble: null,
  leaseUntilMs: 0,
  leaseHolder: '',
  queuedUntilMs: 0,
  writtenAtMs: 0,
};

/** If the clock was set back since the state was written, its times to wait for are dropped. */
export function readRefreshState(text: string, nowMs: number): RefreshState {
  const state = { ...NEVER_REFRESHED, ...(parseJson(text) as RefreshState) };
  if (!isAhead(state.writtenAtMs, nowMs)) return state;
  return { ...state, freshUntilMs: 0, retryAtMs: 0, leaseUntilMs: 0, queuedUntilMs: 0 };
}

export function writeRefreshState(state: RefreshState): string {
  return JSON.stringify(state);
}

const BACK_OFF_MS = 5_000;
const MS_PER_S = 1_000;

export interface DueFacts {
  readonly nowMs: number;
  /** -1: the partition is never due by itself. 0: it is always due. */
  readonly pollIntervalS: number;
  /** The time that was set by an explicit request; null: none was, or it was done since. */
  readonly refreshAtMs: number | null;
  readonly state: Pick<RefreshState, 'atMs' | 'failures' | 'retryAtMs' | 'freshUntilMs'>;
}

/** Whether the backend is to be queried now. An explicit request takes precedence, also over the back-off. */
export function isDue({ nowMs, pollIntervalS, refreshAtMs, state }: DueFacts): boolean {
  if (refreshAtMs !== null) return refreshAtMs <= nowMs;
  if (state.failures > 0) return state.retryAtMs <= nowMs;
  if (pollIntervalS < 0 || nowMs < state.freshUntilMs) return false;
  return state.atMs === null || elapsedMs(state.atMs, nowMs) >= pollIntervalS * MS_PER_S;
}

/** The back-off after so many failures in a row. `fraction`, from 0 to 1, is the jitter. */
export function waitAfterMs(failures: number, fraction: number): number {
  const ceilingMs = Math.min(REFRESH_WAIT_MS_MAX, BACK_OFF_MS * 2 ** Math.min(failures - 1, 16));
  return Math.ceil(ceilingMs * (0.5 + fraction / 2));
}
