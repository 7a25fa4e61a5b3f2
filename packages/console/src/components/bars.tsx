import { Text } from '@mantine/core';
import type { StatStep } from '@tidemark/protocol';
import { durationOf } from './moment.tsx';

const STEP_S = 60;
const BARS = 60;

interface BarsProps {
  readonly steps: readonly StatStep[];
  readonly title: string;
  /** How far back the chart goes. */
  readonly hours?: number;
}

/** How often something happened, as bars that end now. */
export function Bars({ steps, title, hours = 1 }: BarsProps) {
  const widthS = (hours * 3_600) / BARS;
  const endS = (Math.floor(Date.now() / 1_000 / STEP_S) + 1) * STEP_S;
  const startS = endS - BARS * widthS;
  const shown = steps.filter(({ at }) => at >= startS);
  const counts = new Array<number>(BARS).fill(0);
  for (const { at, count: value } of shown) {
    const index = Math.min(BARS - 1, Math.floor((at - startS) / widthS));
    counts[index] = (counts[index] ?? 0) + value;
  }
  const bars = counts.map((value, index) => ({ x: index * 4, value }));
  const max = Math.max(1, ...counts);
  const count = shown.reduce((sum, step) => sum + step.count, 0);
  const meanMs = count === 0 ? 0 : shown.reduce((sum, step) => sum + step.sum, 0) / count;
  const maxMs = Math.max(0, ...shown.map((step) => step.max));
  const range = hours === 1 ? 'hour' : `${hours} hours`;
  const words =
    count === 0
      ? `none in the last ${range}`
      : `${count.toLocaleString('en')} in the last ${range}; ${durationOf(meanMs)} on average, ${durationOf(maxMs)} at most`;
  return (
    <div className="card">
      <svg
        className="bars"
        viewBox={`0 0 ${BARS * 4} 40`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${words}`}
      >
        {bars.map(({ x, value }) => (
          <rect key={x} x={x} width={3} y={39 - (value / max) * 38} height={(value / max) * 38 + 1} />
        ))}
      </svg>
      <Text size="sm" c="dimmed">
        {words}
      </Text>
    </div>
  );
}
