import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { temporaryFolder } from '../../kit/temporary-folder.ts';
import type { StoreBench, StoreCase, StoreEngine } from './store-case.ts';

/** Runs one case on a store of its own, and lets go of everything it opened. */
export async function runStoreCase(storeCase: StoreCase, engine: StoreEngine): Promise<void> {
  const cleanups: (() => Promise<void>)[] = [];
  const tracked = async (opening: Promise<Store>): Promise<Store> => {
    const store = await opening;
    // A case may have closed it already, and the port does not say what closing twice does.
    cleanups.push(() => store.close().catch(() => undefined));
    return store;
  };
  try {
    const store = await tracked(engine.open());
    await storeCase.run({
      store,
      capabilities: engine.capabilities,
      reopen: () => tracked(reopen(store, engine)),
      openBackup: () => tracked(openBackup(store, engine, cleanups)),
    });
  } finally {
    for (const cleanUp of cleanups.reverse()) await cleanUp();
  }
}

async function reopen(store: Store, engine: StoreEngine): ReturnType<StoreBench['reopen']> {
  if (engine.reopen === undefined) throw new Error('this engine cannot reopen a store');
  await store.close();
  return engine.reopen(store);
}

async function openBackup(store: Store, engine: StoreEngine, cleanups: (() => Promise<void>)[]): Promise<Store> {
  if (engine.openBackup === undefined) throw new Error('this engine cannot open a backup');
  const folder = await temporaryFolder();
  cleanups.push(folder.remove);
  const copy = join(folder.path, 'copy');
  await store.backup(copy);
  return engine.openBackup(copy);
}
