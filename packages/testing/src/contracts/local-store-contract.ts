import { type LocalStoreEngine, localStoreCases } from '@tidemark/client-testing';
import { describe, it } from 'vitest';

/** Registers the contract of the local store port for one store. */
export function localStoreContract(name: string, engine: LocalStoreEngine): void {
  describe(`${name} keeps the contract of a local store`, () => {
    for (const { title, run } of localStoreCases) it(title, () => run(engine));
  });
}
