import { describe, it } from 'vitest';
import type { StoreEngine } from './store/store-case.ts';
import { runStoreCase } from './store/store-case.ts';
import { storeCases } from './store/store-cases.ts';

/** Registers the contract of the store port for one engine, without cases that need what the engine cannot do. */
export function storeContract(name: string, engine: StoreEngine): void {
  // Every case has a store of its own, and opening one may be slow.
  describe.concurrent(`${name} keeps the contract of a store`, () => {
    for (const storeCase of storeCases) {
      const { needs, title } = storeCase;
      if (needs === null || engine[needs] !== undefined) it(title, () => runStoreCase(storeCase, engine));
    }
  });
}
