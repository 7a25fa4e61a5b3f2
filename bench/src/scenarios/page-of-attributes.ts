import type { Tidemark } from '@tidemark/core';
import type { Page } from '@tidemark/protocol';
import { pullPage } from '@tidemark/testing/kit';
import type { Fixture } from '../fixture.ts';
import { compare } from '../measure.ts';
import type { Row } from '../row.ts';

const OBJECTS = 500;
/** Every attribute is edited at least once, so the marks name all of them. */
const EDITS = 60;

/** A page of one changed attribute of each object: large objects that were edited often, against small ones. */
export async function pageOfAttributes(fixture: Fixture): Promise<Row> {
  const ways = [await pageOf(fixture, 7), await pageOf(fixture, 50)];
  const { medianMs } = await compare(ways, { count: 15, runs: 20 });
  const [small = 0, large = 0] = medianMs.map((ms) => (ms * 1_000) / OBJECTS);
  return {
    name: 'page of 1 changed attribute each, per object',
    measured: `${large.toFixed(1)} µs with 50 attributes`,
    against: `${small.toFixed(1)} µs with 7`,
    ratio: large / small,
    bound: { atMost: 2 },
  };
}

async function pageOf({ tidemark, device }: Fixture, attributes: number): Promise<() => Promise<unknown>> {
  const source = `Wide${attributes}`;
  await tidemark.sources.declare({ name: source, partition_type: 'app' });
  await tidemark.objects.fastInsert({ source, objects: objectsWith(attributes) });
  for (let edit = 0; edit < EDITS; edit++) await pushEdit(tidemark, source, edit % attributes, edit);
  const pull = (held: string | null) => pullPage(tidemark, device, { source, token: held });
  const { token } = JSON.parse((await pull(null)).json) as Page;
  await pushEdit(tidemark, source, 3, 'the last edit');
  const page = JSON.parse((await pull(token)).json) as Page;
  if (Object.keys(page.patch ?? {}).length !== OBJECTS) throw new Error('the page does not hold every object');
  return () => pull(token);
}

function pushEdit(tidemark: Tidemark, source: string, attribute: number, value: unknown): Promise<unknown> {
  const objects = Array.from({ length: OBJECTS }, (_, id) => [`o${id}`, { [`attribute_${attribute}`]: value }]);
  return tidemark.objects.push({ source, objects: Object.fromEntries(objects) });
}

function objectsWith(attributes: number): Record<string, unknown> {
  const object = Object.fromEntries(
    Array.from({ length: attributes }, (_, attribute) => [`attribute_${attribute}`, `value ${attribute}`]),
  );
  return Object.fromEntries(Array.from({ length: OBJECTS }, (_, id) => [`o${id}`, object]));
}
