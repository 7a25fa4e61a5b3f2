import { isAhead } from '../ports/clock.ts';

/** Returns the stored form of a refresh time: when it is due, and when it was set. */
export function refreshTimeText(dueAtMs: number, saidAtMs: number): string {
  return `${dueAtMs} ${saidAtMs}`;
}

/** Returns `nowMs` when the time was set by a clock that was ahead, because the wait is then unknown. */
export function readRefreshTime(text: string, nowMs: number): number {
  const [dueAtMs = 0, saidAtMs = 0] = text.split(' ').map(Number);
  return isAhead(saidAtMs, nowMs) ? nowMs : dueAtMs;
}
