import type { SourceSchema, Step } from '@tidemark/protocol';
import { makeDevices, openDeviceFixture } from '../device-fixture.ts';
import { measureFirstSync } from '../first-sync-process.ts';
import { objectsFrom, SOURCE } from '../fixture.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';

const OBJECTS = 100_000;
const BATCH = 10_000;
const ROUNDS = 5;
const RATIO_MAX = 1.3;

/** The objects are of version 3. Versions 1 and 2 called and kept things differently. */
const STEPS: readonly (readonly Step[])[] = [
  [
    { step: 'rename', attribute: 'title', to: 'name' },
    { step: 'convert', attribute: 'tags', to: 'list' },
    { step: 'split', attribute: 'description', into: ['text', 'note'], separator: ' | ' },
  ],
  [
    { step: 'rename', attribute: 'maker', to: 'brand' },
    { step: 'convert', attribute: 'price', to: 'number' },
    { step: 'add', attribute: 'stock', value: 0 },
  ],
];
const FIRST: SourceSchema = {
  properties: { title: { type: 'string' }, maker: { type: 'string' }, price: { type: 'string' } },
};
const SECOND: SourceSchema = {
  properties: { name: { type: 'string' }, maker: { type: 'string' }, price: { type: 'string' } },
};
const THIRD: SourceSchema = {
  properties: { name: { type: 'string' }, brand: { type: 'string' }, price: { type: 'number' } },
};

/** A first sync of 100,000 objects by an app that is two versions old, against one of the present version; both read the list. */
export async function versions(): Promise<readonly Row[]> {
  const { fixture, prepared: devices } = await openDeviceFixture(async (tidemark) => {
    const { schemas } = tidemark.sources;
    await tidemark.sources.declare({ name: SOURCE, partition_type: 'app' });
    await schemas.set(SOURCE, { mode: 'off', schema: FIRST });
    for (const [at, schema] of [SECOND, THIRD].entries()) {
      await schemas.set(SOURCE, { schema, steps: STEPS[at], force: true });
      await tidemark.conversions.run();
    }
    for (let start = 0; start < OBJECTS; start += BATCH) {
      await tidemark.objects.fastInsert({ source: SOURCE, objects: objectsFrom(start, BATCH) });
    }
    return makeDevices(tidemark, 2 * ROUNDS);
  });
  const [old, present]: [number[], number[]] = [[], []];
  for (const [index, device] of devices.entries()) {
    const isOld = index % 2 === 0;
    const built = { [SOURCE]: isOld ? { version: 1, steps: [] } : { version: 3, steps: STEPS } };
    const cost = await measureFirstSync({ url: fixture.url, source: SOURCE, device, way: 'memory', versions: built });
    if (cost.objects !== OBJECTS) throw new Error(`${cost.objects} of ${OBJECTS} objects came`);
    (isOld ? old : present).push(cost.cpuMs);
  }
  await fixture.close();
  const ratio = median(old) / median(present);
  return [
    {
      name: 'first sync of an app two versions old',
      measured: `${median(old).toFixed(0)} ms CPU for ${OBJECTS}`,
      against: `${median(present).toFixed(0)} ms of the present version`,
      ratio,
      bound: { atMost: RATIO_MAX },
    },
  ];
}
