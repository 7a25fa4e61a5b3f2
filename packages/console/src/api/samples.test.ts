import { expect, it } from 'vitest';
import { quantileOf, samplesIn, sumOfSamples } from './samples.ts';

const TEXT = `# HELP x y
tidemark_store_bytes 4096
tidemark_devices_seen{within="1d"} 7
s_bucket{le="0.01",route="/a"} 90
s_bucket{le="0.1",route="/a"} 98
s_bucket{le="+Inf",route="/a"} 100
s_bucket{le="0.01",route="/b \\"q\\""} 1
s_bucket{le="+Inf",route="/b \\"q\\""} 1
`;

it('[CONSOLE-24] the numbers of the overview are read from the metrics of the server', () => {
  const samples = samplesIn(TEXT);
  expect(sumOfSamples(samples, 'tidemark_store_bytes')).toBe(4_096);
  expect(sumOfSamples(samples, 'tidemark_devices_seen', { within: '1d' })).toBe(7);
  expect(sumOfSamples(samples, 'tidemark_devices_seen', { within: '1h' })).toBe(undefined);
  expect(quantileOf(samples, 's', { quantile: 0.5, route: '/a' })).toBe(0.01);
  expect(quantileOf(samples, 's', { quantile: 0.98, route: '/a' })).toBe(0.1);
  expect(quantileOf(samples, 's', { quantile: 0.99 })).toBe(Number.POSITIVE_INFINITY);
  expect(quantileOf(samples, 'none', { quantile: 0.5 })).toBe(undefined);
});
