import { AggregatorRegistry, Histogram, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { SecondsHistogram } from './seconds-histogram.ts';

const NAME = { name: 'x_seconds', help: 'How long x took' };
const TIMES_S = [0, 0.000_1, 0.005, 0.005_000_1, 0.01, 0.07, 1, 9.99, 10, 10.01, 1_000];
const SERIES = [
  { method: 'GET', route: '/a/:b', status: '2xx' },
  { method: 'GET', route: '/a/"quoted"\\', status: '4xx' },
];

function both() {
  const [ours, theirs] = [new Registry(), new Registry()];
  const own = new SecondsHistogram(ours, NAME);
  const library = new Histogram({ ...NAME, labelNames: ['method', 'route', 'status'], registers: [theirs] });
  for (const labels of SERIES) {
    const tally = own.tallyOf(labels);
    for (const seconds of TIMES_S) {
      tally.observe(seconds);
      library.observe(labels, seconds);
    }
  }
  return { ours, theirs };
}

describe('the histogram of times', () => {
  it('the histogram shows the same output as the one of the library, at every bound', async () => {
    const { ours, theirs } = both();
    expect(await ours.metrics()).toBe(await theirs.metrics());
    expect(await ours.metrics()).toContain('x_seconds_bucket{le="0.005",method="GET",route="/a/:b",status="2xx"} 3');
  });

  it('histograms of several processes add up as those of the library', async () => {
    const { ours, theirs } = both();
    const summed = async (registry: Registry) => {
      const measured = await registry.getMetricsAsJSON();
      return AggregatorRegistry.aggregate([measured, measured]).metrics();
    };
    expect(await summed(ours)).toBe(await summed(theirs));
  });

  it('a histogram without measurements shows nothing', async () => {
    const registry = new Registry();
    new SecondsHistogram(registry, NAME);
    expect(await registry.metrics()).toBe('# HELP x_seconds How long x took\n# TYPE x_seconds histogram\n');
  });
});
