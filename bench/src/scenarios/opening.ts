import { sharedPartition } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { type Fixture, SOURCE } from '../fixture.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';

const OPEN_MS_MAX = 1_000;

/** From the call to the first answer about the document, in a process that has the store closed. */
export async function opening(fixture: Fixture): Promise<Row> {
  await fixture.store.close();
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    const store = await openEmbeddedStore({ folder: fixture.folder });
    const { size } = await store.partition(sharedPartition(SOURCE));
    times.push(performance.now() - start);
    if (size !== fixture.objects) throw new Error(`opened ${size} of ${fixture.objects} objects`);
    await store.close();
  }
  const openMs = median(times);
  return {
    name: 'opening a store',
    measured: `${openMs.toFixed(0)} ms with ${fixture.objects} objects`,
    against: `${OPEN_MS_MAX} ms allowed`,
    ratio: openMs / OPEN_MS_MAX,
    bound: { atMost: 1 },
  };
}
