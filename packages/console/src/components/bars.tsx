import { Text } from '@mantine/core';
import type { StatStep } from '@tidemark/protocol';
import { axisMax, axisTimes, stepWords, timeWords } from './axis.ts';
import { BARS, heightsOf, isLevel, seriesWords } from './chart-series.ts';

const STEP_S = 60;

interface BarsProps {
  readonly metric: string;
  readonly steps: readonly StatStep[];
  readonly title: string;
  /** How far back the chart goes. */
  readonly hours?: number;
  /** True: the range before is drawn behind it, if the steps reach that far. */
  readonly isCompared?: boolean;
}

/** A metric as bars that end now. */
export function Bars({ metric, steps, title, hours = 1, isCompared = false }: BarsProps) {
  const widthS = (hours * 3_600) / BARS;
  const endS = (Math.floor(Date.now() / 1_000 / STEP_S) + 1) * STEP_S;
  const lengthS = BARS * widthS;
  const startS = endS - lengthS;
  const series = { isLevel: isLevel(metric), startS, widthS };
  const shown = steps.filter(({ at }) => at >= startS);
  const before = isCompared ? steps.filter(({ at }) => at < startS && at >= startS - lengthS) : null;
  const counts = heightsOf(shown, series);
  const earlier = heightsOf(before ?? [], { ...series, startS: startS - lengthS });
  const max = axisMax(Math.max(...counts, ...earlier));
  const [begin, middle, end] = axisTimes(startS, endS);
  const words = seriesWords(series.isLevel, { shown, before, range: hours === 1 ? 'hour' : `${hours} hours` });
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
