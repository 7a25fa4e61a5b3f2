import { isAhead } from '../ports/clock.ts';

/** When a partition is due, as it is kept: with the moment at which that was said. */
export function refreshTimeText(dueAtMs: number, saidAtMs: number): string {
  return `${dueAtMs} ${saidAtMs}`;
}

/** Due at once when it was said by a clock that has been set back since: nobody knows how long there is to wait. */
export function readRefreshTime(text: string, nowMs: number): number {
  const [dueAtMs = 0, saidAtMs = 0] = text.split(' ').map(Number);
  return isAhead(saidAtMs, nowMs) ? nowMs : dueAtMs;
}
