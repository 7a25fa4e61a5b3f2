import type { Store } from '@tidemark/core';
import type { Config } from '../../config/config.ts';
import { CliFailure } from '../cli-failure.ts';

/** Opens the store in a folder that is known to hold one, and closes it whatever happens. */
export async function withStore<T>(config: Config, folder: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await open({ store: config.store, dataFolder: folder });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function open(config: Pick<Config, 'store' | 'dataFolder'>): Promise<Store> {
  // Only loaded by whoever opens a store, so that all other commands start quickly.
  const { openStore } = await import('../../compose.ts');
  try {
    return await openStore(config);
  } catch (error) {
    // The message is a sentence that names the folder, and nothing in it was touched.
    if (error instanceof Error && error.name === 'UnusableFolder') throw new CliFailure(error.message);
    throw error;
  }
}
