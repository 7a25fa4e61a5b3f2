import type { Store } from '@tidemark/core';
import { type StoreEngine, startValkey, storeContract, type ValkeyServer } from '@tidemark/testing';
import { afterAll, beforeAll } from 'vitest';
import { openValkeyStore } from './valkey-store.ts';

/** The machine may be busy with other tests: how long an answer takes is not what is tested here. */
const PATIENCE_MS = 60_000;

const trimStepMax = 7;
const prefixes = new Map<Store, string>();
let server: ValkeyServer;
let stores = 0;

beforeAll(async () => {
  server = await startValkey({ settings: { appendonly: 'no' } });
});

afterAll(() => server.remove());

async function open(prefix: string): Promise<Store> {
  const store = await openValkeyStore({ answerMs: PATIENCE_MS, address: server.address, prefix, trimStepMax });
  prefixes.set(store, prefix);
  return store;
}

const engine: StoreEngine = {
  capabilities: { gravesPerTrimMax: trimStepMax, rowsPerTrimMax: trimStepMax },
  open: () => open(`store ${++stores}:`),
  reopen: (closed) => open(prefixes.get(closed) ?? ''),
};

storeContract('the Valkey store on one node', engine);
