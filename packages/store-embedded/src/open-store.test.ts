import type { Store } from '@tidemark/core';
import { type StoreEngine, storeContract, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { afterAll } from 'vitest';
import { openEmbeddedStore } from './open-store.ts';

const trimStepMax = 7;
const folders = new Map<Store, TemporaryFolder>();
/** Open and empty. To open a store takes longer than most cases, and an emptied one must be as good as a new one. */
const idle: Store[] = [];
const open = async (folder: TemporaryFolder): Promise<Store> => {
  const store = await openEmbeddedStore({ folder: folder.path, trimStepMax });
  folders.set(store, folder);
  return store;
};

const engine: StoreEngine = {
  capabilities: { tombstonesPerTrimMax: trimStepMax, rowsPerTrimMax: trimStepMax },
  open: async () => idle.pop() ?? open(await temporaryFolder()),
  // A store that the case has closed cannot be emptied, and is not used again.
  release: (store) =>
    store.reset([]).then(
      () => void idle.push(store),
      () => undefined,
    ),
  async reopen(closed) {
    const folder = folders.get(closed);
    if (folder === undefined) throw new Error('that store was never open');
    return open(folder);
  },
  openBackup: (folder) => openEmbeddedStore({ folder, trimStepMax }),
};

afterAll(async () => {
  for (const store of idle) await store.close();
  for (const folder of folders.values()) await folder.remove();
});

storeContract('the embedded store', engine);
