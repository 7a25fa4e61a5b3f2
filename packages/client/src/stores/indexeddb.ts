/**
 * The part of IndexedDB that is used here. The types of the DOM would add `window` and `document` to a package that
 * must run without them.
 */
export interface IndexedDbFactory {
  open(name: string, version: number): IndexedDbOpenRequest;
}

export interface IndexedDbRequest<T> {
  readonly result: T;
  readonly error: unknown;
  onsuccess: ((event: never) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
}

export interface IndexedDbOpenRequest extends IndexedDbRequest<IndexedDb> {
  onupgradeneeded: ((event: never) => unknown) | null;
  onblocked: ((event: never) => unknown) | null;
}

export interface IndexedDb {
  onversionchange: ((event: never) => unknown) | null;
  createObjectStore(name: string): unknown;
  transaction(
    names: string[],
    mode: 'readonly' | 'readwrite',
    options?: { durability?: 'strict' | 'relaxed' },
  ): IndexedDbTransaction;
  close(): void;
}

export interface IndexedDbTransaction {
  readonly error: unknown;
  oncomplete: ((event: never) => unknown) | null;
  onabort: ((event: never) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
  objectStore(name: string): IndexedDbObjectStore;
  abort(): void;
}

export interface IndexedDbObjectStore {
  get(key: string | string[]): IndexedDbRequest<unknown>;
  getAll(): IndexedDbRequest<unknown[]>;
  getAllKeys(): IndexedDbRequest<unknown[]>;
  put(value: unknown, key: string | string[]): IndexedDbRequest<unknown>;
  delete(key: string | string[]): IndexedDbRequest<unknown>;
}
