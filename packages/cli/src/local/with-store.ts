import type { Store } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { Config } from '@tidemark/server/config/config';
import { CliFailure } from '../cli-failure.ts';
import { permissionFailure } from '../permission-failure.ts';

/** Opens the store in a folder that is known to hold one, and closes it whatever happens. */
export async function withStore<T>(config: Config, folder: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await open({ ...config, dataFolder: folder });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function open(config: Config): Promise<Store> {
  // Only loaded by whoever opens a store, so that all other commands start quickly.
  const { openStore } = await import('@tidemark/server/open-engines');
  try {
    return await openStore(config);
  } catch (error) {
    throw permissionFailure(error, config.dataFolder) ?? storeFailure(error);
  }
}

/** What an engine says of a folder or a server it cannot use is a sentence for people; anything else is a fault of ours. */
export function storeFailure(error: unknown): unknown {
  const isForPeople =
    error instanceof Error &&
    (error.name === 'UnusableFolder' || error.name === 'UnusableServer' || error instanceof Refusal);
  return isForPeople ? new CliFailure(error.message) : error;
}
