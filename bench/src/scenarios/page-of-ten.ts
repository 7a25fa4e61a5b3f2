import type { Page } from '@tidemark/protocol';
import { pullPage } from '@tidemark/testing/kit';
import { type Fixture, idOf, SOURCE } from '../fixture.ts';
import { compare } from '../measure.ts';
import type { Row } from '../row.ts';
import { caughtUpToken } from './caught-up-token.ts';

/** Ten changes must cost the same however many objects did not change. */
export async function pageOfTen(small: Fixture, large: Fixture): Promise<Row> {
  const prepare = async (fixture: Fixture) => {
    const token = await caughtUpToken(fixture);
    for (let change = 0; change < 10; change++) {
      const id = idOf(Math.floor((fixture.objects / 10) * change));
      await fixture.tidemark.objects.push({ source: SOURCE, objects: { [id]: { price: change + 0.5 } } });
    }
    const pull = () => pullPage(fixture.tidemark, fixture.device, { source: SOURCE, token });
    const page = JSON.parse((await pull()).json) as Page;
    const changed = Object.keys(page.patch ?? {}).length;
    if (changed !== 10 || page.more) throw new Error(`expected a page of 10 changes, got ${changed}`);
    return pull;
  };
  const { medianMs } = await compare([await prepare(small), await prepare(large)], { count: 15, runs: 500 });
  const [few = 0, many = 0] = medianMs;
  return {
    name: 'page of 10 changes',
    measured: `${(many * 1_000).toFixed(1)} µs in ${large.objects}`,
    against: `${(few * 1_000).toFixed(1)} µs in ${small.objects}`,
    ratio: many / few,
    bound: { atMost: 1.3 },
  };
}
