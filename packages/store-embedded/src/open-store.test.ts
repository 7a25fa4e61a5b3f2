import type { Store } from '@tidemark/core';
import { type StoreEngine, storeContract, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { afterAll } from 'vitest';
import { openEmbeddedStore } from './open-store.ts';

const trimStepMax = 7;
const folders = new Map<Store, TemporaryFolder>();
const open = async (folder: TemporaryFolder): Promise<Store> => {
  const store = await openEmbeddedStore({ folder: folder.path, trimStepMax });
  folders.set(store, folder);
  return store;
};

const engine: StoreEngine = {
  capabilities: { tombstonesPerTrimMax: trimStepMax, rowsPerTrimMax: trimStepMax },
  open: async () => open(await temporaryFolder()),
  async reopen(closed) {
    const folder = folders.get(closed);
    if (folder === undefined) throw new Error('that store was never open');
    return open(folder);
  },
  openBackup: (folder) => openEmbeddedStore({ folder, trimStepMax }),
};

afterAll(async () => {
  for (const folder of folders.values()) await folder.remove();
});

storeContract('the embedded store', engine);
