import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing/kit';
import { expect, it, onTestFinished } from 'vitest';
import { chartFile, chartsOf } from './charts.ts';
import { performancePage } from './performance-page.ts';
import { comparisonOf, type Results, readResults, saveResults } from './results.ts';
import { type Row, verdictOf } from './row.ts';
import { fittedExponent } from './scenarios/growth.ts';
import { tableOf } from './table.ts';

const KEPT: Row = { name: 'push', measured: '10 µs', against: '5 µs', ratio: 2, bound: { atMost: 3 } };
const MISSED: Row = { ...KEPT, name: 'slow push', ratio: 4, knownMiss: 'it would take another engine' };
const GROWTH: Row = {
  ...KEPT,
  name: 'growth of a pull, exponent',
  ratio: 0.02,
  curve: { unit: 'µs of CPU', points: [1_000, 10_000, 100_000].map((objects) => ({ objects, value: 50 })) },
};
const RESULTS: Results = { day: '2026-01-02', machine: '2 cores', parts: { core: [KEPT, GROWTH], pushes: [MISSED] } };

it('a bound that is not kept is broken, unless it is known to be missed', () => {
  expect([KEPT, MISSED, { ...KEPT, ratio: 4 }].map(verdictOf)).toEqual(['kept', 'missed', 'BROKEN']);
  expect(verdictOf({ ...KEPT, ratio: 0.2, bound: { atLeast: 0.3 } })).toBe('BROKEN');
});

it('the table of a run marks known misses and says why they are missed', () => {
  const table = tableOf([KEPT, MISSED]);
  expect(table).toMatch(/slow push .* ≤ 3 +missed/);
  expect(table).toContain('slow push: it would take another engine');
});

it('the fitted exponent of a cost is 0 if it is constant, 1 if it is proportional, 2 if it is quadratic', () => {
  for (const power of [0, 1, 2]) {
    const points = [10, 100, 1_000, 10_000].map((objects) => ({ objects, value: 7 * objects ** power }));
    expect(fittedExponent(points)).toBeCloseTo(power);
  }
});

it('results of a part that is measured again replace only those of this part', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const file = join(folder.path, 'results', 'latest.json');
  saveResults(file, RESULTS);
  const again = { ...RESULTS, day: '2026-01-03', parts: { pushes: [KEPT] } };
  const merged = { ...again, parts: { core: [KEPT, GROWTH], pushes: [KEPT] } };
  expect(saveResults(file, again)).toEqual(merged);
  expect(readResults(file)).toEqual(merged);
});

it('a comparison of two runs has the ratio of both for each row, and names rows that only one of them has', () => {
  const next = {
    ...RESULTS,
    parts: {
      core: [
        { ...KEPT, ratio: 1 },
        { ...KEPT, name: 'pull' },
      ],
    },
  };
  const lines = comparisonOf(RESULTS, next).split('\n');
  expect(lines.find((line) => line.startsWith('push'))).toMatch(/2\.00 +1\.00 +0\.50$/);
  expect(lines.find((line) => line.startsWith('pull'))).toMatch(/new$/);
  expect(lines.find((line) => line.startsWith('slow push'))).toMatch(/gone$/);
});

it('the page has a chart for each curve, all rows, and the reasons of missed bounds', () => {
  const page = performancePage(RESULTS);
  expect(page).toContain(`](../images/${chartFile(GROWTH.name)})`);
  expect(page).toContain('| slow push | 10 µs | 5 µs | 4.00 | ≤ 3 **missed** |');
  expect(page).toContain('- **slow push** (4.00, bound ≤ 3): it would take another engine');
});

it('a chart is an SVG image with a title, a point for each size and colours for dark pages', () => {
  const [chart] = chartsOf([KEPT, GROWTH]);
  expect(chart?.file).toBe('bench-growth-of-a-pull-exponent.svg');
  expect(chart?.svg).toMatch(/^<svg [^>]*aria-label="Pull: exponent 0\.02"/);
  expect(chart?.svg.match(/<circle /g)).toHaveLength(3);
  expect(chart?.svg).toContain('prefers-color-scheme: dark');
  expect(chart?.svg).not.toMatch(/NaN|Infinity|undefined/);
});
