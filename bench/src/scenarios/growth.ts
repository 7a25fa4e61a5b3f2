import type { Page } from '@tidemark/protocol';
import { pullPage } from '@tidemark/testing/kit';
import { buildFixture, endFixture, type Fixture, idOf, SOURCE } from '../fixture.ts';
import { median } from '../measure.ts';
import type { Curve, CurvePoint, Row } from '../row.ts';
import { caughtUpToken } from './caught-up-token.ts';

const SIZES = [1_000, 10_000, 100_000];
const ROUNDS = 9;
const RUNS = 300;
/** A cost that does not depend on the size has the exponent 0, one that is proportional to it has 1. */
const EXPONENT_MAX = 0.1;

interface Subject {
  readonly name: string;
  /** Returns the work that is measured, on a document of any size. */
  readonly prepare: (fixture: Fixture) => Promise<() => Promise<unknown>>;
}

const SUBJECTS: readonly Subject[] = [
  {
    name: 'pull without changes',
    async prepare(fixture) {
      const { tidemark, device } = fixture;
      const token = await caughtUpToken(fixture);
      return () => pullPage(tidemark, device, { source: SOURCE, token });
    },
  },
  {
    name: 'pull of 10 changes',
    async prepare(fixture) {
      const { tidemark, objects, device } = fixture;
      const token = await caughtUpToken(fixture);
      for (let change = 0; change < 10; change++) {
        const id = idOf(Math.floor((objects / 10) * change));
        await tidemark.objects.push({ source: SOURCE, objects: { [id]: { price: change + 0.25 } } });
      }
      const pull = () => pullPage(tidemark, device, { source: SOURCE, token });
      const page = JSON.parse((await pull()).json) as Page;
      if (Object.keys(page.patch ?? {}).length !== 10) throw new Error('expected a page of 10 changes');
      return pull;
    },
  },
];

/** What syncs cost in documents of growing size, up to `objects`, and the exponent of the growth. */
export async function growth(objects: number, say: (line: string) => void): Promise<readonly Row[]> {
  const sizes = [...SIZES.filter((size) => size < objects), objects];
  const fixtures: Fixture[] = [];
  for (const size of sizes) fixtures.push(await buildFixture(size, say));
  const rows: Row[] = [];
  for (const { name, prepare } of SUBJECTS) {
    const ways = [];
    for (const fixture of fixtures) ways.push(await prepare(fixture));
    const costs = await cpuOfEach(ways);
    rows.push(
      growthRow(
        name,
        sizes.map((size, index) => ({ objects: size, value: costs[index] ?? 0 })),
      ),
    );
  }
  for (const fixture of fixtures) await endFixture(fixture);
  return rows;
}

/** Median CPU time of one run of each way in microseconds. The ways take turns. */
async function cpuOfEach(ways: readonly (() => Promise<unknown>)[]): Promise<readonly number[]> {
  const times: number[][] = ways.map(() => []);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, way] of ways.entries()) {
      const before = process.cpuUsage();
      for (let run = 0; run < RUNS; run++) await way();
      const { user, system } = process.cpuUsage(before);
      // The first round only warms up.
      if (round > 0) times[index]?.push((user + system) / RUNS);
    }
  }
  return times.map(median);
}

function growthRow(name: string, points: readonly CurvePoint[]): Row {
  const curve: Curve = { unit: 'µs of CPU', points };
  return {
    name: `growth of a ${name}, exponent`,
    measured: points
      .map(({ value }) => value.toFixed(0))
      .join(' → ')
      .concat(' µs'),
    against: `${points.map(({ objects }) => objects.toLocaleString('en')).join(' → ')} objects`,
    ratio: fittedExponent(points),
    bound: { atMost: EXPONENT_MAX },
    curve,
  };
}

/** The exponent of the power of the size that fits the values best: the slope of the line through their logarithms. */
export function fittedExponent(points: readonly CurvePoint[]): number {
  const logs = points.map(({ objects, value }) => [Math.log(objects), Math.log(value)] as const);
  const meanX = logs.reduce((sum, [x]) => sum + x, 0) / logs.length;
  const meanY = logs.reduce((sum, [, y]) => sum + y, 0) / logs.length;
  const covariance = logs.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const variance = logs.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return variance === 0 ? 0 : covariance / variance;
}
