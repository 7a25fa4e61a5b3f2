import { storeError } from './store-error.ts';

/**
 * The part of IndexedDB that is used here. The types of the DOM would add `window` and `document` to a package that
 * must run without them.
 */
export interface IndexedDbFactory {
  open(name: string, version: number): IndexedDbOpenRequest;
  deleteDatabase(name: string): IndexedDbRequest<unknown>;
}

export interface IndexedDbRequest<T> {
  readonly result: T;
  readonly error: unknown;
  onsuccess: ((event: never) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
}

export interface IndexedDbOpenRequest extends IndexedDbRequest<IndexedDb> {
  readonly transaction: IndexedDbTransaction | null;
  onupgradeneeded: ((event: never) => unknown) | null;
  onblocked: ((event: never) => unknown) | null;
}

export interface IndexedDb {
  onversionchange: ((event: never) => unknown) | null;
  onclose: ((event: never) => unknown) | null;
  readonly objectStoreNames: { contains(name: string): boolean };
  createObjectStore(name: string, options?: { readonly autoIncrement?: boolean }): unknown;
  transaction(
    names: string[],
    mode: 'readonly' | 'readwrite',
    options?: { durability?: 'strict' | 'relaxed' },
  ): IndexedDbTransaction;
  close(): void;
}

export interface IndexedDbTransaction {
  readonly db: IndexedDb;
  readonly error: unknown;
  oncomplete: ((event: never) => unknown) | null;
  onabort: ((event: never) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
  objectStore(name: string): IndexedDbObjectStore;
  abort(): void;
}

export interface IndexedDbObjectStore {
  get(key: string | string[] | number): IndexedDbRequest<unknown>;
  /** Undefined: there is no such key. */
  getKey(key: string): IndexedDbRequest<unknown>;
  getAll(): IndexedDbRequest<unknown[]>;
  getAllKeys(): IndexedDbRequest<unknown[]>;
  /** Without a key it gets the next number. */
  put(value: unknown, key?: string | string[]): IndexedDbRequest<unknown>;
  delete(key: string | string[]): IndexedDbRequest<unknown>;
  clear(): IndexedDbRequest<unknown>;
}

export function answered<T>(request: IndexedDbRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(storeError(request.error));
  });
}

/** Resolves when the transaction is complete. */
export function finished(tx: IndexedDbTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    tx.oncomplete = () => resolve();
    tx.onabort = () => reject(storeError(tx.error));
  });
}

/**
 * Makes Chromium begin a new log file for the databases of the origin. Otherwise it goes on with the log of a browser that was
 * killed, even if that ends in the middle of a record; it cannot read such a log at the next start, and then deletes all
 * databases of the origin (https://github.com/google/leveldb/issues/1287). To delete a database, here an empty one, compacts
 * the log into a table. If that fails, everything works as without it. The name must not be used by another tab: one that is
 * frozen while it has the empty database open would block the deletion.
 */
export async function beginNewLog(factory: IndexedDbFactory, empty: string): Promise<void> {
  try {
    (await answered(factory.open(empty, 1))).close();
    await answered(factory.deleteDatabase(empty));
  } catch {
    // Nothing depends on the empty database.
  }
}
