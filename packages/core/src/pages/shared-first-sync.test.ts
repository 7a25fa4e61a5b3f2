import type { Page } from '@tidemark/protocol';
import { newTidemark, type TestTidemark } from '@tidemark/testing';
import { expect, it } from 'vitest';

const Note = { source: 'Note' };

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`o${index}`, { n: index }]));

/** A shared source of so many objects, and how many slices were read from it. */
async function shared(count: number): Promise<TestTidemark & { readonly reads: { count: number } }> {
  const test = await newTidemark();
  await test.tidemark.sources.declare({ name: 'Note', partition_type: 'app' });
  await test.tidemark.pushObjects({ ...Note, objects: many(count) });
  const reads = { count: 0 };
  const readJoined = test.store.readJoined.bind(test.store);
  test.store.readJoined = (key, range) => {
    reads.count++;
    return readJoined(key, range);
  };
  return { ...test, reads };
}

async function pull({ tidemark }: TestTidemark, token: string | null): Promise<Page> {
  return JSON.parse((await tidemark.pull({ ...Note, token, objectsMax: 10 })).json) as Page;
}

/** The objects of a device that starts with nothing and pulls until there is no more. */
async function firstSync(test: TestTidemark): Promise<Readonly<Record<string, unknown>>> {
  const objects = new Map<string, object>();
  let token: string | null = null;
  for (let pages = 0; pages < 100; pages++) {
    const page: Page = await pull(test, token);
    for (const [id, attributes] of Object.entries(page.put ?? {})) objects.set(id, attributes);
    for (const [id, attributes] of Object.entries(page.patch ?? {}))
      objects.set(id, { ...objects.get(id), ...attributes });
    for (const id of page.delete ?? []) objects.delete(id);
    ({ token } = page);
    if (!page.more) break;
  }
  return Object.fromEntries([...objects].sort());
}

const sorted = (objects: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(objects).sort(([left], [right]) => (left < right ? -1 : 1)));

it('[PAGE-17] after a push a fresh device gets the cached pages, and ends with the objects as they are', async () => {
  const test = await shared(100);
  expect(await firstSync(test)).toEqual(sorted(many(100)));
  const before = test.reads.count;
  await test.tidemark.pushObjects({ ...Note, objects: { o5: { n: 'new' }, extra: { n: 1 } } });
  await test.tidemark.pushDeletes({ ...Note, objects: ['o7'] });
  const { o7: _, ...others } = many(100);
  expect(await firstSync(test)).toEqual(sorted({ ...others, o5: { n: 'new' }, extra: { n: 1 } }));
  // The page of the last ten objects and the changes is the only one that had to be made.
  expect(test.reads.count - before).toBeLessThanOrEqual(2);
});

it('[PAGE-17] a first sync begins with new pages when more than a tenth of the objects have changed', async () => {
  const test = await shared(100);
  await firstSync(test);
  const changed = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`o${index}`, { n: 'new' }]));
  await test.tidemark.pushObjects({ ...Note, objects: changed });
  const before = test.reads.count;
  expect(await firstSync(test)).toEqual(sorted({ ...many(100), ...changed }));
  expect(test.reads.count - before).toBe(10);
});

it('[PAGE-17] a first sync begins with new pages when tombstones made since the cached ones are trimmed', async () => {
  const test = await shared(100);
  await firstSync(test);
  await test.tidemark.pushDeletes({ ...Note, objects: ['o7'] });
  const partition = { source: 'Note', user: null };
  await test.store.trim(partition, (await test.store.partition(partition)).head);
  const { o7: _, ...others } = many(100);
  expect(await firstSync(test)).toEqual(sorted(others));
});
