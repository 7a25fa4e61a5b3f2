import type { Attributes, TidemarkClient } from '@tidemark/backend';
import { expect, it } from 'vitest';
import { Assignments } from './assignments.ts';

/** What is stored, and the ids that were looked up there. */
function openStored() {
  const stored = new Map<string, Attributes>();
  const lookedUp: string[] = [];
  const client = {
    push: {
      objects: async (
        _: string,
        objects: ReadonlyMap<string, Attributes>,
        { deletes }: { deletes: readonly string[] },
      ) => {
        for (const [id, attributes] of objects) stored.set(id, attributes);
        for (const id of deletes) stored.delete(id);
      },
    },
    documents: {
      objects: async (_: object, { filter }: { filter?: { readonly '@id': { readonly in: readonly string[] } } }) => {
        const ids = filter?.['@id'].in ?? [...stored.keys()];
        lookedUp.push(...ids);
        const objects = ids.flatMap((id) => (stored.has(id) ? [{ id, attributes: stored.get(id) }] : []));
        return { objects, next: null };
      },
    },
  } as unknown as TidemarkClient;
  return { client, lookedUp };
}

const owned = (owner: string) => ({ owner, extra: null });

it('[PG-350] of more rows than memory has room for only those that were dropped from it are looked up, and new ones never', async () => {
  const { client, lookedUp } = openStored();
  const assignments = new Assignments(client, 'hidden', 'orders', 2);
  await assignments.read([]);
  await assignments.write(new Map(['1', '2', '3', '4', '5'].map((id) => [id, owned(`of ${id}`)])));
  expect([...(await assignments.read(['6', '7', '5']))]).toEqual([['5', owned('of 5')]]);
  expect(lookedUp).toEqual([]);
  expect((await assignments.read(['1', '8', '2'])).size).toBe(2);
  expect(lookedUp).toEqual(['1', '2']);
});

it('[PG-350] a row whose assignment was deleted has none, also when it was dropped from memory before and afterwards', async () => {
  const { client } = openStored();
  const assignments = new Assignments(client, 'hidden', 'orders', 2);
  await assignments.read([]);
  await assignments.write(new Map(['1', '2', '3', '4'].map((id) => [id, owned('north')])));
  await assignments.write(new Map([['1', null]]));
  await assignments.write(new Map(['5', '6', '7'].map((id) => [id, owned('south')])));
  const found = await assignments.read(['1', '2', '7', '8']);
  expect([...found]).toEqual([
    ['7', owned('south')],
    ['2', owned('north')],
  ]);
});
