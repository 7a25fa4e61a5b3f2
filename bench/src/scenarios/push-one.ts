import { type Fixture, idOf, objectsFrom, SOURCE } from '../fixture.ts';
import { compare } from '../measure.ts';
import type { Row } from '../row.ts';

/** Another document in the store of a fixture. */
const SIDE_SOURCE = 'Side';

let turn = 0;

/** Every push changes something: the value was never there before. */
function push({ tidemark }: Fixture, source: string, objects: number) {
  return () => {
    const id = idOf((++turn * 7919) % objects);
    return tidemark.objects.push({ source, objects: { [id]: { stock: turn } } });
  };
}

/** Pushing one object must cost the same however many others its document has: two documents in one store. */
export async function pushOne(small: Fixture, large: Fixture): Promise<Row> {
  await large.tidemark.sources.declare({ name: SIDE_SOURCE, partition_type: 'app' });
  await large.tidemark.objects.fastInsert({ source: SIDE_SOURCE, objects: objectsFrom(0, small.objects) });
  const ways = [push(large, SIDE_SOURCE, small.objects), push(large, SOURCE, large.objects)];
  return rowOf('push 1 object, durable', ways, small, large);
}

/** The same between two stores: a store with a million objects has deeper trees than one with a thousand. */
export async function pushOneApart(small: Fixture, large: Fixture): Promise<Row> {
  const ways = [push(small, SOURCE, small.objects), push(large, SOURCE, large.objects)];
  return rowOf('push 1 object, durable, a store each', ways, small, large);
}

async function rowOf(name: string, ways: Parameters<typeof compare>[0], small: Fixture, large: Fixture): Promise<Row> {
  const { medianMs } = await compare(ways, { count: 15, runs: 100 });
  const [few = 0, many = 0] = medianMs;
  return {
    name,
    measured: `${many.toFixed(3)} ms in ${large.objects}`,
    against: `${few.toFixed(3)} ms in ${small.objects}`,
    ratio: many / few,
    bound: { atMost: 1.3 },
  };
}
