import type { Store } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { openValkeyStores } from '@tidemark/store-valkey';
import { openMemoryStore, seededRandom, startValkey, temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { GROUP_PLANTS, runGroupHistory } from './group-history.ts';
import { HISTORIES_TIMEOUT_MS } from './simulate.ts';

const IS_LONG = process.env.TIDEMARK_LONG_TESTS === '1';
const IN_MEMORY = IS_LONG ? 5_000 : 200;
const ON_EMBEDDED = IS_LONG ? 2_000 : 20;
const ON_VALKEY = IS_LONG ? 2_000 : 40;
/** Histories side by side, each on a store of its own. */
const EMBEDDED_STORES = 4;
const VALKEY_STORES = 20;

const memoryStore = (seed: number) => openMemoryStore({ random: seededRandom(seed) });

async function expectUnion(store: Store, seed: number): Promise<void> {
  for (const { user, held, wanted } of await runGroupHistory(store, seed))
    expect({ seed, user, held }).toEqual({ seed, user, held: wanted });
}

/** Runs the histories on these stores, each of which is emptied before every history. */
async function runOn(stores: readonly Store[], histories: number): Promise<void> {
  await Promise.all(
    stores.map(async (store, lane) => {
      for (let seed = 1 + lane; seed <= histories; seed += stores.length) {
        await store.reset([]);
        await expectUnion(store, seed);
      }
    }),
  );
}

it(`[GROUP-23] after ${IN_MEMORY} histories of pushes, moves, grants, revokes, lost and repeated answers every device has the union of its groups`, {
  timeout: HISTORIES_TIMEOUT_MS,
}, async () => {
  for (let seed = 1; seed <= IN_MEMORY; seed++) await expectUnion(memoryStore(seed), seed);
});

it(`[GROUP-23] after ${ON_EMBEDDED} histories on the embedded store every device has the union of its groups`, {
  timeout: HISTORIES_TIMEOUT_MS,
}, async () => {
  const stores: Store[] = [];
  for (let lane = 0; lane < EMBEDDED_STORES; lane++) {
    const folder = await temporaryFolder();
    const store = await openEmbeddedStore({ folder: folder.path });
    stores.push(store);
    onTestFinished(async () => {
      await store.close();
      await folder.remove();
    });
  }
  await runOn(stores, ON_EMBEDDED);
});

it(`[GROUP-23] after ${ON_VALKEY} histories on one Valkey every device has the union of its groups`, {
  timeout: HISTORIES_TIMEOUT_MS,
}, async () => {
  const server = await startValkey({ settings: { appendonly: 'no' } });
  const prefixes = Array.from({ length: VALKEY_STORES }, (_, lane) => `lane ${lane}:`);
  const stores = await openValkeyStores({ address: server.address, answerMs: 300_000 }, prefixes);
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await server.remove();
  });
  await runOn(stores, ON_VALKEY);
});

it.each(GROUP_PLANTS)('[GROUP-23] the histories find the planted mistake "%s"', async (plant) => {
  const isFound = async (seed: number) =>
    (await runGroupHistory(memoryStore(seed), seed, plant)).some(
      ({ held, wanted }) => JSON.stringify(sorted(held)) !== JSON.stringify(sorted(wanted)),
    );
  const found: number[] = [];
  for (let seed = 1; seed <= IN_MEMORY && found.length === 0; seed++) if (await isFound(seed)) found.push(seed);
  expect(found).toHaveLength(1);
});

type Objects = Record<string, Readonly<Record<string, unknown>>>;

function sorted(objects: Objects): unknown {
  return Object.entries(objects)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([id, attributes]) => [id, Object.entries(attributes).sort(([left], [right]) => (left < right ? -1 : 1))]);
}
