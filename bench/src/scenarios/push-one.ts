import { compare } from '../measure.ts';
import type { Row } from '../row.ts';
import { idOf, SOURCE, type World } from '../world.ts';

/** Pushing one object must cost the same however many others there are. */
export async function pushOne(small: World, large: World): Promise<Row> {
  let turn = 0;
  const push = (world: World) => () => {
    const id = idOf((++turn * 7919) % world.objects);
    return world.tidemark.pushObjects({ source: SOURCE, objects: { [id]: { stock: turn } } });
  };
  const { medianMs } = await compare([push(small), push(large)], { count: 15, runs: 100 });
  const [few = 0, many = 0] = medianMs;
  return {
    name: 'push 1 object, durable',
    measured: `${many.toFixed(3)} ms in ${large.objects}`,
    against: `${few.toFixed(3)} ms in ${small.objects}`,
    ratio: many / few,
    bound: { atMost: 1.3 },
  };
}
