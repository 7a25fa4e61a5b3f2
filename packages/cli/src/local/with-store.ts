import type { Store } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { Config } from '@tidemark/server/config/config';
import { CliFailure } from '../cli-failure.ts';
import { permissionFailure } from './ownership.ts';

const FOR_PEOPLE: ReadonlySet<string> = new Set(['UnusableFolder', 'UnusableServer', 'UnusableFiles']);

/** Opens an existing store for `work` and always closes it. */
export async function withStore<T>(config: Config, folder: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await open({ ...config, dataFolder: folder });
  try {
    return await work(store);
  } catch (error) {
    throw storeFailure(error);
  } finally {
    await store.close();
  }
}

async function open(config: Config): Promise<Store> {
  // Loaded on demand, so that other commands start quickly.
  const { openStore } = await import('@tidemark/server/open-engines');
  try {
    return await openStore(config);
  } catch (error) {
    throw permissionFailure(error, config.dataFolder) ?? storeFailure(error);
  }
}

/** Turns an engine's refusal to open into a `CliFailure`; other errors are bugs and pass through. */
export function storeFailure(error: unknown): unknown {
  const isForPeople = error instanceof Error && (FOR_PEOPLE.has(error.name) || error instanceof Refusal);
  return isForPeople ? new CliFailure(error.message) : error;
}
