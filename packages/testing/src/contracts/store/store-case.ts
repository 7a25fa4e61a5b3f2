import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { temporaryFolder } from '../../kit/temporary-folder.ts';

/** The engine under test. */
export interface StoreEngine {
  /** A new and empty store. */
  open(): Promise<Store>;
  /** Takes the store of a case back, which the case may have closed. Absent: the store is closed. */
  release?(store: Store): Promise<void>;
  /** Opens a closed store again. Absent: the engine keeps nothing after `close`. */
  reopen?(closed: Store): Promise<Store>;
  /** Opens what `backup` wrote into the folder. Absent: the engine cannot be backed up. */
  openBackup?(folder: string): Promise<Store>;
  readonly capabilities: StoreCapabilities;
}

/** Bounds of the engine; small ones make tests fast. */
export interface StoreCapabilities {
  /** The most tombstones that one `trim` removes. */
  readonly tombstonesPerTrimMax: number;
  /** The most rows that one `trimStats` removes. */
  readonly rowsPerTrimMax: number;
}

/** What a case gets. */
export interface StoreFixture {
  /** A new, empty one. */
  readonly store: Store;
  readonly capabilities: StoreCapabilities;
  /** Closes the store and opens it again. */
  reopen(): Promise<Store>;
  /** Backs up the store and opens the copy. */
  openBackup(): Promise<Store>;
}

/** One promise of every engine as data: a suite registers it, a canary test runs it on broken engines. */
export interface StoreCase {
  /** The rule of docs/rules.md, such as `STORE-7`. */
  readonly rule: string;
  /** Begins with the rule in brackets. */
  readonly title: string;
  /** What the engine must be able to do. */
  readonly needs: 'reopen' | 'openBackup' | null;
  readonly run: (fixture: StoreFixture) => Promise<void>;
}

export function storeCase(title: string, run: StoreCase['run'], needs: StoreCase['needs'] = null): StoreCase {
  const rule = /^\[(STORE-\d+)\] /.exec(title)?.[1];
  if (rule === undefined) throw new Error(`a case must begin with its rule: ${title}`);
  return { rule, title, run, needs };
}

/** Runs one case on a new store, and closes everything it opened. */
export async function runStoreCase(storeCase: StoreCase, engine: StoreEngine): Promise<void> {
  const cleanups: (() => Promise<void>)[] = [];
  // A case may have closed a store already, and the port does not define a second close.
  const close = (store: Store) => store.close().catch(() => undefined);
  const tracked = async (opening: Promise<Store>, release = close): Promise<Store> => {
    const store = await opening;
    cleanups.push(() => release(store));
    return store;
  };
  try {
    const store = await tracked(engine.open(), engine.release);
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

async function reopen(store: Store, engine: StoreEngine): ReturnType<StoreFixture['reopen']> {
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
