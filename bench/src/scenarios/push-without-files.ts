import { mayHaveFiles } from '@tidemark/protocol';
import { buildFixture, endFixture, objectsFrom, SOURCE } from '../fixture.ts';
import { compare } from '../measure.ts';
import type { Row } from '../row.ts';

const BATCH = 1_000;
const ROUNDS = 100;
/** A round more for warming up. */
const BATCHES = ROUNDS + 1;
/** When an object is admitted, and when its record is made. */
const SEARCHES = 2;

/**
 * What files cost a push that refers to none: the search for references in the text of each object. It asks the store for
 * nothing else ([FILES-12]).
 */
export async function pushWithoutFiles(say: (line: string) => void): Promise<Row> {
  const fixture = await buildFixture(0, say);
  const batches = Array.from({ length: BATCHES }, (_, batch) => objectsFrom(batch * BATCH, BATCH));
  const texts = Object.values(batches[0] ?? {}).map((object) => JSON.stringify(object));
  let turn = 0;
  const push = () => fixture.tidemark.objects.push({ source: SOURCE, objects: batches[turn++] });
  let found = 0;
  const search = () => {
    for (let count = 0; count < SEARCHES; count++) for (const text of texts) if (mayHaveFiles(text)) found++;
  };
  const { medianMs } = await compare([push, search], { count: ROUNDS, runs: 1 });
  await endFixture(fixture);
  if (found > 0) throw new Error('objects without files refer to some');
  const [pushMs = 0, searchMs = 0] = medianMs;
  return {
    name: `what files cost a push of ${BATCH.toLocaleString('en')} objects without any`,
    measured: `${searchMs.toFixed(3)} ms`,
    against: `${pushMs.toFixed(1)} ms for the push`,
    ratio: searchMs / pushMs,
    bound: { atMost: 0.05 },
  };
}
