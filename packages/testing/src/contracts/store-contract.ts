import { describe, it } from 'vitest';
import { runStoreCase } from './store/run-store-case.ts';
import type { StoreEngine } from './store/store-case.ts';
import { storeCases } from './store/store-cases.ts';

/** Registers the contract of the store port for one engine. What an engine cannot do is skipped by name. */
export function storeContract(name: string, engine: StoreEngine): void {
  // Every case has a store of its own, and opening one may be slow.
  describe.concurrent(`${name} keeps the contract of a store`, () => {
    for (const storeCase of storeCases) {
      it(storeCase.title, async (context) => {
        const { needs } = storeCase;
        if (needs !== null && engine[needs] === undefined) return context.skip(`this engine has no ${needs}`);
        return runStoreCase(storeCase, engine);
      });
    }
  });
}
