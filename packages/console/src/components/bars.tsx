import { Text } from '@mantine/core';
import type { StatStep } from '@tidemark/protocol';
import { axisMax, axisTimes, stepWords, timeWords } from './axis.ts';
import { durationOf } from './duration.ts';

const STEP_S = 60;
const BARS = 60;

interface BarsProps {
  readonly steps: readonly StatStep[];
  readonly title: string;
  /** How far back the chart goes. */
  readonly hours?: number;
  /** True: the range before is drawn behind it, if the steps reach that far. */
  readonly isCompared?: boolean;
}

/** How often something happened, as bars that end now. */
export function Bars({ steps, title, hours = 1, isCompared = false }: BarsProps) {
  const widthS = (hours * 3_600) / BARS;
  const endS = (Math.floor(Date.now() / 1_000 / STEP_S) + 1) * STEP_S;
  const startS = endS - BARS * widthS;
  const shown = steps.filter(({ at }) => at >= startS);
  const counts = countsIn(shown, startS, widthS);
  const lengthS = BARS * widthS;
  const before = isCompared ? steps.filter(({ at }) => at < startS && at >= startS - lengthS) : [];
  const earlier = countsIn(before, startS - lengthS, widthS);
  const max = axisMax(Math.max(...counts, ...earlier));
  const count = shown.reduce((sum, step) => sum + step.count, 0);
  const meanMs = count === 0 ? 0 : shown.reduce((sum, step) => sum + step.sum, 0) / count;
  const maxMs = Math.max(0, ...shown.map((step) => step.max));
  const [begin, middle, end] = axisTimes(startS, endS);
  const range = hours === 1 ? 'hour' : `${hours} hours`;
  const words =
    count === 0
      ? `none in the last ${range}`
      : `${comparison(isCompared, before, count)}${count.toLocaleString('en')} in the last ${range}; ${durationOf(meanMs)} on average, ${durationOf(maxMs)} at most`;
  return (
    <div className="card">
      <div className="chart">
        <div className="scale" aria-hidden="true">
          {[max, max / 2, 0].map((value) => (
            <span key={value}>{value.toLocaleString('en', { notation: max < 10_000 ? 'standard' : 'compact' })}</span>
          ))}
        </div>
        <svg
          className="bars"
          viewBox={`0 0 ${BARS * 4} 40`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${words}`}
        >
          <path className="lines" d={`M0 1H${BARS * 4}M0 20.5H${BARS * 4}M0 40H${BARS * 4}`} />
          {isCompared && <BarRow counts={earlier} max={max} className="earlier" />}
          <BarRow counts={counts} max={max} className="now" times={{ startS, widthS }} />
        </svg>
        <div className="times" aria-hidden="true">
          <span>{begin}</span>
          <span>{middle}</span>
          <span>{end}</span>
        </div>
      </div>
      <Text size="sm" c="dimmed">
        {words}. Each bar is {widthS === STEP_S ? 'a' : ''} {stepWords(widthS)}.
      </Text>
    </div>
  );
}

function countsIn(steps: readonly StatStep[], startS: number, widthS: number): readonly number[] {
  const counts = new Array<number>(BARS).fill(0);
  for (const { at, count } of steps) {
    const index = Math.min(BARS - 1, Math.floor((at - startS) / widthS));
    counts[index] = (counts[index] ?? 0) + count;
  }
  return counts;
}

function comparison(isCompared: boolean, before: readonly StatStep[], count: number): string {
  if (!isCompared) return '';
  const earlier = before.reduce((sum, step) => sum + step.count, 0);
  if (earlier === 0) return 'none in the range before; ';
  const percent = Math.round((count / earlier - 1) * 100);
  return `${Math.abs(percent)} % ${percent < 0 ? 'less' : 'more'} than in the range before; `;
}

interface BarRowProps {
  readonly counts: readonly number[];
  readonly max: number;
  readonly className: string;
  /** Present: each bar says its time and count on hover. */
  readonly times?: { readonly startS: number; readonly widthS: number };
}

function BarRow({ counts, max, className, times }: BarRowProps) {
  const bars = counts.map((value, index) => ({ x: index * 4, value }));
  return (
    <g className={className}>
      {bars.map(({ x, value }) => (
        <rect key={x} x={x} width={3} y={40 - (value / max) * 39} height={(value / max) * 39}>
          {times !== undefined && (
            <title>{`${timeWords(times.startS + (x / 4) * times.widthS, times.widthS > STEP_S)}: ${value.toLocaleString('en')}`}</title>
          )}
        </rect>
      ))}
    </g>
  );
}
