import { AsyncLocalStorage } from 'node:async_hooks';
import type { Entry, EntryRef, Store } from '@tidemark/core';
import { replaced } from '../faults/replaced.ts';
import { memoryServer } from './engines.ts';
import type { MakeServer } from './server-under-test.ts';

/** Returns a store that still finds the registrations of deleted devices. */
export function rememberingRegistrations(store: Store): Store {
  const entries = new Map<string, Entry>();
  return readingRegistrations(store, async (ref) => {
    const entry = (await store.readEntry(ref)) ?? entries.get(refText(ref)) ?? null;
    if (entry !== null) entries.set(refText(ref), entry);
    return entry;
  });
}

/** Changes how the store reads the registrations of devices. */
function readingRegistrations(store: Store, readEntry: Store['readEntry']): Store {
  const isRegistration = ({ kind }: EntryRef) => kind === 'client' || kind === 'user_client';
  return replaced(store, { readEntry: (ref) => (isRegistration(ref) ? readEntry(ref) : store.readEntry(ref)) });
}

function refText({ kind, key }: EntryRef): string {
  return JSON.stringify([kind, key]);
}

/** Makes a server that reads the registration of a device once in each pull, so that a second check finds the same. */
export const checkingOnce: MakeServer = async (options) => {
  const reads = new AsyncLocalStorage<Map<string, Promise<Entry | null>>>();
  const plant = (store: Store) =>
    readingRegistrations(store, (ref) => {
      const entry = reads.getStore()?.get(refText(ref)) ?? store.readEntry(ref);
      reads.getStore()?.set(refText(ref), entry);
      return entry;
    });
  const server = await memoryServer(plant)(options);
  return replaced(server, { pull: (pull) => reads.run(new Map(), () => server.pull(pull)) });
};
