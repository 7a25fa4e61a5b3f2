import { sharedPartition } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';
import { SOURCE, type World } from '../world.ts';

const OPEN_MS_MAX = 1_000;

/** From the call to the first answer about the document, in a process that has the store closed. */
export async function opening(world: World): Promise<Row> {
  await world.store.close();
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    const store = await openEmbeddedStore({ folder: world.folder });
    const { size } = await store.partition(sharedPartition(SOURCE));
    times.push(performance.now() - start);
    if (size !== world.objects) throw new Error(`opened ${size} of ${world.objects} objects`);
    await store.close();
  }
  const openMs = median(times);
  return {
    name: 'opening a store',
    measured: `${openMs.toFixed(0)} ms with ${world.objects} objects`,
    against: `${OPEN_MS_MAX} ms allowed`,
    ratio: openMs / OPEN_MS_MAX,
    bound: { atMost: 1 },
  };
}
