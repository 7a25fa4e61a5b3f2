import { pullPage } from '@tidemark/testing/kit';
import { type Fixture, SOURCE } from '../fixture.ts';
import { compare } from '../measure.ts';
import type { Row } from '../row.ts';
import { caughtUpToken } from './caught-up-token.ts';

/** Looking for changes when there are none must cost the same at any size. */
export async function noChange(small: Fixture, large: Fixture): Promise<Row> {
  const check = async (fixture: Fixture) => {
    const token = await caughtUpToken(fixture);
    return () => pullPage(fixture.tidemark, fixture.device, { source: SOURCE, token });
  };
  const { medianMs } = await compare([await check(small), await check(large)], { count: 25, runs: 2_000 });
  const [few = 0, many = 0] = medianMs;
  return {
    name: 'no-change check',
    measured: `${(many * 1_000).toFixed(1)} µs in ${large.objects}`,
    against: `${(few * 1_000).toFixed(1)} µs in ${small.objects}`,
    ratio: many / few,
    bound: { atMost: 1.15 },
  };
}
