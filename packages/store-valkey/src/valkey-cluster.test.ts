import type { Store } from '@tidemark/core';
import { clusterContract, type StoreEngine, startValkeyCluster, type ValkeyCluster } from '@tidemark/testing';
import { afterAll, beforeAll } from 'vitest';
import { openValkeyStore } from './open-store.ts';

const trimStepMax = 7;
/** The machine may be busy with other tests, and the time of a reply is not what is tested here. */
const PATIENCE_MS = 300_000;
const prefixes = new Map<Store, string>();
let cluster: ValkeyCluster;
let stores = 0;

beforeAll(async () => {
  cluster = await startValkeyCluster({ appendonly: 'no' });
});

afterAll(() => cluster.remove());

async function open(prefix: string): Promise<Store> {
  const store = await openValkeyStore({ address: cluster.address, prefix, trimStepMax, answerMs: PATIENCE_MS });
  prefixes.set(store, prefix);
  return store;
}

const engine: StoreEngine = {
  capabilities: { tombstonesPerTrimMax: trimStepMax, rowsPerTrimMax: trimStepMax },
  open: () => open(`store ${++stores}:`),
  reopen: (closed) => open(prefixes.get(closed) ?? ''),
};

clusterContract('the Valkey store in a cluster', engine);
