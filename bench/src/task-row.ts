import type { Row } from './row.ts';

/** Above that a page responds noticeably late. */
const TASK_MS_MAX = 50;

export function taskRow(name: string, objects: number, longestMs: number): Row {
  return {
    name,
    measured: `${longestMs.toFixed(0)} ms CPU with ${objects}`,
    against: `${TASK_MS_MAX} ms allowed`,
    ratio: longestMs / TASK_MS_MAX,
    bound: { atMost: 1 },
  };
}
