import type { JsonValue } from '@tidemark/protocol';
import { ClientError, clientError } from '../client-error.ts';
import {
  type CommitOptions,
  type LocalRow,
  type LocalStore,
  type LocalWrite,
  TABLES,
  type Table,
} from '../ports/local-store.ts';
import type { IndexedDb, IndexedDbFactory, IndexedDbRequest, IndexedDbTransaction } from './indexeddb.ts';

export interface IndexedDbStoreOptions {
  /** The name of the database: one per device. Default: `tidemark`. */
  readonly name?: string;
  /** Default: the one of the browser. */
  readonly indexedDB?: IndexedDbFactory;
}

const VERSION = 1;
const FENCE = 'fence';
const OWNER_KEY = 'owner';

/**
 * Stores a device in a browser. Tabs share it: one of them leads and uses the database, the others go through it. The
 * database belongs to the tab that loaded it last: commits of others are refused with `store_in_use`.
 */
export async function openIndexedDbStore(options: IndexedDbStoreOptions = {}): Promise<LocalStore> {
  const { name = 'tidemark', indexedDB: factory = browserFactory() } = options;
  const db = await opened(factory, name);
  // Not randomUUID, which browsers have on secure pages only.
  const owner = globalThis.crypto.getRandomValues(new Uint32Array(4)).join('-');
  return new IndexedDbStore(db, name, owner);
}

class IndexedDbStore implements LocalStore {
  readonly sharedAs: string;
  readonly #db: IndexedDb;
  readonly #owner: string;
  #end: ClientError | null = null;
  #isTaken = false;
  #onLost: (error: ClientError) => void = () => undefined;

  constructor(db: IndexedDb, name: string, owner: string) {
    this.sharedAs = name;
    this.#db = db;
    this.#owner = owner;
    // Somebody deletes the database, or another version of the app upgrades it, and must not wait for this one.
    db.onversionchange = () => {
      const isNew = this.#end === null;
      this.#end ??= clientError('store_failed', 'the database was deleted or upgraded; open the device again');
      db.close();
      if (isNew) this.#onLost(this.#end);
    };
  }

  /** Takes the database from the tab that had it, in the transaction that reads it. */
  async load(): Promise<readonly LocalRow[]> {
    this.#requireOpen();
    this.#isTaken = true;
    const tx = this.#db.transaction([...TABLES, FENCE], 'readwrite');
    tx.objectStore(FENCE).put(this.#owner, OWNER_KEY);
    const tables = TABLES.map((table) => rowsOf(tx, table));
    const [rows] = await Promise.all([Promise.all(tables), finished(tx)]);
    return rows.flat();
  }

  async commit(writes: readonly LocalWrite[], { isRepeatable = false }: CommitOptions = {}): Promise<void> {
    this.#requireOpen();
    const names = [FENCE, ...new Set(writes.map(({ table }) => table))];
    const tx = this.#db.transaction(names, 'readwrite', {
      durability: isRepeatable ? 'relaxed' : 'strict',
    });
    const done = finished(tx);
    // The check and the writes are one transaction, so that no other tab can interfere.
    const fence = tx.objectStore(FENCE).get(OWNER_KEY);
    if (!this.#isTaken) tx.objectStore(FENCE).put(this.#owner, OWNER_KEY);
    let isOwner = !this.#isTaken;
    this.#isTaken = true;
    fence.onsuccess = () => {
      isOwner ||= fence.result === this.#owner;
      if (!isOwner) tx.abort();
      else for (const write of writes) apply(tx, write);
    };
    await done.catch((error: unknown) => {
      throw isOwner ? error : clientError('store_in_use', 'another tab or window has opened this device');
    });
  }

  async close(): Promise<void> {
    if (this.#end !== null) return;
    this.#end = clientError('closed', 'the store is closed');
    this.#db.close();
  }

  onLost(listener: (error: ClientError) => void): void {
    this.#onLost = listener;
    if (this.#end?.code === 'store_failed') listener(this.#end);
  }

  #requireOpen(): void {
    if (this.#end !== null) throw this.#end;
  }
}

function apply(tx: IndexedDbTransaction, { table, key, value }: LocalWrite): void {
  const store = tx.objectStore(table);
  if (value === undefined) store.delete([...key]);
  else store.put(value, [...key]);
}

async function rowsOf(tx: IndexedDbTransaction, table: Table): Promise<readonly LocalRow[]> {
  const store = tx.objectStore(table);
  const [keys, values] = await Promise.all([answered(store.getAllKeys()), answered(store.getAll())]);
  return keys.map((key, index) => ({ table, key: key as [string, string], value: values[index] as JsonValue }));
}

function opened(factory: IndexedDbFactory, name: string): Promise<IndexedDb> {
  const request = factory.open(name, VERSION);
  request.onupgradeneeded = () => {
    for (const table of [...TABLES, FENCE]) request.result.createObjectStore(table);
  };
  return answered(request);
}

function answered<T>(request: IndexedDbRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(failure(request.error));
  });
}

function finished(tx: IndexedDbTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    tx.oncomplete = () => resolve();
    tx.onabort = () => reject(failure(tx.error));
  });
}

function failure(error: unknown): ClientError {
  const detail = error instanceof Error ? error.message : 'the transaction was aborted';
  return new ClientError('store_failed', detail, { cause: error });
}

function browserFactory(): IndexedDbFactory {
  const { indexedDB } = globalThis as unknown as { readonly indexedDB?: IndexedDbFactory };
  if (indexedDB === undefined) throw clientError('store_failed', 'this platform has no IndexedDB');
  return indexedDB;
}
