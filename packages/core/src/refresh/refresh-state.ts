import { type PartialError, parseJson } from '@tidemark/protocol';
import { isAhead } from '../ports/clock.ts';

/** How the refresh of one partition stands. */
export interface RefreshState {
  /** When the last query that went well began; null: none ever did. */
  readonly atMs: number | null;
  /** Until when it is not due by itself, since devices are about to fetch what a late refresh has brought; 0: it may be. */
  readonly freshUntilMs: number;
  /** Refreshes in a row that failed. */
  readonly failures: number;
  /** After failures, when to try again. */
  readonly retryAtMs: number;
  /** Why the last one failed; null: it did not. */
  readonly trouble: PartialError | null;
  /** Until when somebody has the refresh to themselves; 0: nobody has. */
  readonly leaseUntilMs: number;
  /** Tells the one who has it from everybody else. */
  readonly leaseWord: string;
  /** Until when a job for it is waited for; 0: there is none. */
  readonly queuedUntilMs: number;
  /** When this was written, by the clock that also set the moments above. */
  readonly writtenAtMs: number;
}

export const NEVER_REFRESHED: RefreshState = {
  atMs: null,
  freshUntilMs: 0,
  failures: 0,
  retryAtMs: 0,
  trouble: null,
  leaseUntilMs: 0,
  leaseWord: '',
  queuedUntilMs: 0,
  writtenAtMs: 0,
};

/** Whatever a clock that has been set back since said to wait for is over. */
export function readRefreshState(text: string, nowMs: number): RefreshState {
  const state = { ...NEVER_REFRESHED, ...(parseJson(text) as RefreshState) };
  if (!isAhead(state.writtenAtMs, nowMs)) return state;
  return { ...state, freshUntilMs: 0, retryAtMs: 0, leaseUntilMs: 0, queuedUntilMs: 0 };
}

export function writeRefreshState(state: RefreshState): string {
  return JSON.stringify(state);
}
