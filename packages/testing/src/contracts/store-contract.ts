import { describe, it } from 'vitest';
import type { StoreCase, StoreEngine } from './store/store-case.ts';
import { runStoreCase } from './store/store-case.ts';
import { severalSlotsCases, storeCases } from './store/store-cases.ts';

/** Registers the contract of the store port for one engine, without cases that need what the engine cannot do. */
export function storeContract(name: string, engine: StoreEngine, cases: readonly StoreCase[] = storeCases): void {
  // Every case has a store of its own, and opening one may be slow.
  describe.concurrent(`${name} keeps the contract of a store`, () => {
    for (const storeCase of cases) {
      const { needs, title } = storeCase;
      if (needs === null || engine[needs] !== undefined) it(title, () => runStoreCase(storeCase, engine));
    }
  });
}

/** Registers only what can differ in a cluster; the long tests register everything. */
export function clusterContract(name: string, engine: StoreEngine): void {
  storeContract(name, engine, process.env.TIDEMARK_LONG_TESTS === '1' ? storeCases : severalSlotsCases);
}
