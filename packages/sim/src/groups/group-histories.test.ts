import { openValkeyStores } from '@tidemark/store-valkey';
import { startValkey } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { failedSeedsOf } from '../runner/failed-seeds.ts';
import { type Runner, runCampaign, seedsFrom } from '../runner/simulation.ts';
import { drawHistory } from './draw-history.ts';
import { embeddedRunner, groupSimulation, memoryRunner, storeRunner } from './simulate.ts';
import type { GroupHistory } from './step.ts';

/** `npm run test:long` runs thousands of histories where `npm test` runs tens. */
const IS_LONG = process.env.TIDEMARK_LONG_TESTS === '1';
const IN_MEMORY = IS_LONG ? 5_000 : 12;
const ON_EMBEDDED = IS_LONG ? 1_000 : 2;
const ON_VALKEY = IS_LONG ? 1_000 : 2;
/** Histories side by side, each on a store of its own. */
const EMBEDDED_STORES = IS_LONG ? 4 : 2;
const VALKEY_STORES = IS_LONG ? 20 : 4;
/** Ends a test that hangs. Histories take as long as the machine needs. */
const TIMEOUT_MS = 3_600_000;

const RULES = '[GROUP-23] [SIM-14] [SIM-15] [SIM-16] [SIM-17]';

const failedSeeds = () => failedSeedsOf(groupSimulation('memory').name);

async function expectToPass(
  runners: readonly Runner<GroupHistory>[],
  histories: number,
  failed: Iterable<number> = [],
): Promise<void> {
  const simulation = { ...groupSimulation('memory'), openRunners: async () => runners };
  const seeds = new Set([...failed, ...seedsFrom(1, histories)]);
  const result = await runCampaign(simulation, { seeds });
  if (result.failure !== null) throw result.failure;
  expect(result.histories).toBe(seeds.size);
}

it(
  `${RULES} histories of groups that once failed, and ${IN_MEMORY} random ones, pass`,
  {
    timeout: TIMEOUT_MS,
  },
  async () => expectToPass([memoryRunner()], IN_MEMORY, await failedSeeds()),
);

it(`${RULES} ${ON_EMBEDDED} histories of groups pass on the embedded store`, { timeout: TIMEOUT_MS }, async () => {
  const runners = await Promise.all(Array.from({ length: EMBEDDED_STORES }, embeddedRunner));
  await expectToPass(runners, ON_EMBEDDED, IS_LONG ? await failedSeeds() : []);
});

it(`${RULES} ${ON_VALKEY} histories of groups pass on one Valkey`, { timeout: TIMEOUT_MS }, async () => {
  const server = await startValkey({ settings: { appendonly: 'no' } });
  const prefixes = Array.from({ length: VALKEY_STORES }, (_, lane) => `lane ${lane}:`);
  const stores = await openValkeyStores({ address: server.address, answerMs: 300_000 }, prefixes);
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await server.remove();
  });
  await expectToPass(stores.map(storeRunner), ON_VALKEY, IS_LONG ? await failedSeeds() : []);
});

it('[SIM-10] a seed always gives the same history of groups, which fails in the same way every time', async () => {
  expect(drawHistory(7)).toEqual(drawHistory(7));
  const plant = { calls: () => ({ pull: () => Promise.reject(new Error('planted')) }) };
  const first = await memoryRunner(plant).run(drawHistory(7));
  const second = await memoryRunner(plant).run(drawHistory(7));
  expect(first?.message).toContain('npm run sim -- groups --seed 7');
  expect([second?.seed, second?.stepNumber]).toEqual([first?.seed, first?.stepNumber]);
});
