import type { Store } from '@tidemark/core';
import { type StoreEngine, startValkey, storeContract, type ValkeyServer } from '@tidemark/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openValkeyStore } from './open-store.ts';

const trimStepMax = 7;
/** The machine may be busy with other tests, and the time of a reply is not what is tested here. */
const PATIENCE_MS = 300_000;
const prefixes = new Map<Store, string>();
let server: ValkeyServer;
let stores = 0;

beforeAll(async () => {
  server = await startValkey({ settings: { appendonly: 'no' } });
});

afterAll(() => server.remove());

async function open(prefix: string): Promise<Store> {
  const store = await openValkeyStore({ address: server.address, prefix, trimStepMax, answerMs: PATIENCE_MS });
  prefixes.set(store, prefix);
  return store;
}

const engine: StoreEngine = {
  capabilities: { tombstonesPerTrimMax: trimStepMax, rowsPerTrimMax: trimStepMax },
  open: () => open(`store ${++stores}:`),
  reopen: (closed) => open(prefixes.get(closed) ?? ''),
};

storeContract('the Valkey store on one node', engine);

it('[METRICS-6] the store tells the memory that its node uses', async () => {
  const store = await open('memory:');
  expect(await store.memoryBytes?.()).toBeGreaterThan(100_000);
  await store.close();
});
