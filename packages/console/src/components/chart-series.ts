import type { StatStep } from '@tidemark/protocol';
import { durationOf } from './duration.ts';

export const BARS = 60;

/** What the bars of a chart stand for. */
export interface Series {
  /** True: the metric is a level, such as the number of devices, that is read every minute. Otherwise it counts what happens, and how long that takes. */
  readonly isLevel: boolean;
  readonly startS: number;
  readonly widthS: number;
}

const LEVELS = /^(?:users|clients|listeners|valkey_memory_bytes|devices_seen:.*|queues:.*:depth)$/;

export function isLevel(metric: string): boolean {
  return LEVELS.test(metric);
}

/** The heights of the bars: how often it happened, or the highest level. */
export function heightsOf(steps: readonly StatStep[], { isLevel, startS, widthS }: Series): readonly number[] {
  const heights = new Array<number>(BARS).fill(0);
  for (const { at, count, max } of steps) {
    const index = Math.min(BARS - 1, Math.floor((at - startS) / widthS));
    const before = heights[index] ?? 0;
    heights[index] = isLevel ? Math.max(before, max) : before + count;
  }
  return heights;
}

interface Told {
  readonly shown: readonly StatStep[];
  /** The steps of the range before; null: they are not compared. */
  readonly before: readonly StatStep[] | null;
  /** Such as `hour`. */
  readonly range: string;
}

export function seriesWords(isLevel: boolean, { shown, before, range }: Told): string {
  const count = countIn(shown);
  if (count === 0) return `none in the last ${range}`;
  const mean = meanOf(shown);
  const max = Math.max(...shown.map((step) => step.max));
  if (isLevel) {
    const last = shown.at(-1)?.max ?? 0;
    return `${number(last)} now${comparedWith(before, mean, meanOf)}; ${number(mean)} on average and ${number(max)} at most in the last ${range}`;
  }
  const compared = comparedWith(before, count, countIn);
  return `${number(count)} in the last ${range}${compared}; ${durationOf(mean)} on average, ${durationOf(max)} at most`;
}

function countIn(steps: readonly StatStep[]): number {
  return steps.reduce((sum, step) => sum + step.count, 0);
}

function meanOf(steps: readonly StatStep[]): number {
  return steps.reduce((sum, step) => sum + step.sum, 0) / Math.max(1, countIn(steps));
}

function number(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 1 });
}

function comparedWith(before: Told['before'], now: number, read: (steps: readonly StatStep[]) => number): string {
  if (before === null) return '';
  const earlier = read(before);
  if (earlier === 0) return ', none in the range before';
  const percent = Math.round((now / earlier - 1) * 100);
  return `, ${Math.abs(percent)} % ${percent < 0 ? 'less' : 'more'} than in the range before`;
}
