import type { JsonValue } from '@tidemark/protocol';
import { ClientError, clientError } from '../client-error.ts';
import { PACKED_AGAIN_MIN, PACKS_FROM_OBJECTS, REWRITE_FROM_DELETES, ROWS_BESIDE_PACKS_MAX } from '../limits.ts';
import type { FileDirectory } from '../ports/file-directory.ts';
import {
  type CommitOptions,
  type LocalRow,
  type LocalStore,
  type LocalWrite,
  TABLES,
  type Table,
} from '../ports/local-store.ts';
import { answered, finished, type IndexedDb, type IndexedDbFactory, type IndexedDbTransaction } from './indexeddb.ts';
import { IndexedDbConnection } from './indexeddb-connection.ts';
import {
  applyWrites,
  PACKS,
  readObjects,
  replaceObjects,
  rowsOfObjects,
  type StoredObjects,
  writePacks,
} from './object-packs.ts';
import { storeError } from './store-error.ts';

export interface IndexedDbStoreOptions {
  /** The name of the database: one per device. Default: `tidemark`. */
  readonly name?: string;
  /** Default: the one of the browser. */
  readonly indexedDB?: IndexedDbFactory;
}

const VERSION = 2;
const FENCE = 'fence';
const OWNER_KEY = 'owner';

/**
 * Stores a device in a browser. Tabs share it: one of them leads and uses the database, the others go through it. The
 * database belongs to the tab that loaded it last: commits of others are refused with `store_in_use`.
 *
 * Many objects of one commit are stored as packs, since browsers take a fixed time for every row. Single changes are rows
 * of the table `objects` and count instead of what a pack holds; a row without a value says that the object is gone.
 */
export async function openIndexedDbStore(options: IndexedDbStoreOptions = {}): Promise<LocalStore> {
  try {
    const { name = 'tidemark', indexedDB: factory = browserFactory() } = options;
    return new IndexedDbStore(await opened(factory, name), factory, name);
  } catch (error) {
    // Where a browser blocks storage, even looking at `indexedDB` may throw.
    throw storeError(error);
  }
}

class IndexedDbStore implements LocalStore {
  readonly sharedAs: string;
  readonly #connection: IndexedDbConnection;
  // Not randomUUID, which browsers have on secure pages only.
  readonly #owner = globalThis.crypto.getRandomValues(new Uint32Array(4)).join('-');
  #isTaken = false;
  /** Whether the table `objects` may have rows, and whether there may be packs: both until the database is loaded. */
  #mayHaveRows = true;
  #mayHavePacks = true;
  readonly #openFiles: () => Promise<FileDirectory>;
  #files: Promise<FileDirectory> | null = null;
  /** The objects that were there when the packs were written anew, and those that were packed since and may replace them. */
  #packed = 0;
  #packedAgain = 0;

  constructor(db: IndexedDb, factory: IndexedDbFactory, name: string) {
    this.sharedAs = name;
    const isSame = async (other: IndexedDb) => !this.#isTaken || (await ownerOf(other)) !== undefined;
    this.#openFiles = () =>
      import('./indexeddb-files.ts').then(({ openIndexedDbFiles }) => openIndexedDbFiles(factory, name));
    this.#connection = new IndexedDbConnection(db, { factory, name, version: VERSION, owner: this.#owner, isSame });
  }

  /** Takes the database from the tab that had it, in the transaction that reads it. */
  async load(onFirst?: (rows: readonly LocalRow[]) => void): Promise<readonly LocalRow[]> {
    return await this.#load(true, onFirst).catch((error: unknown) => {
      if (!(error instanceof ClientError) || error.code !== 'storage_full') throw error;
      // There is no room to write the objects anew. They can be read all the same.
      return this.#load(false);
    });
  }

  async #load(mayRewrite: boolean, onFirst?: (rows: readonly LocalRow[]) => void): Promise<readonly LocalRow[]> {
    this.#connection.requireOpen();
    this.#connection.beginNewLog();
    const tx = await this.#connection.begin([...TABLES, FENCE, PACKS], 'readwrite');
    this.#isTaken = true;
    const done = finished(tx);
    // A request that fails says why.
    done.catch(() => undefined);
    tx.objectStore(FENCE).put(this.#owner, OWNER_KEY);
    // Requests are answered in their order, so that the other tables are read before the objects.
    const reads = Promise.all(TABLES.filter((table) => table !== 'objects').map((table) => rowsOf(tx, table)));
    const readOthers = async () => {
      const others = (await reads).flat();
      onFirst?.(others);
      return others;
    };
    const [others, stored] = await Promise.all([readOthers(), readObjects(tx)]);
    const objects = rowsOfObjects(stored.objects);
    const isRewritten = mayRewrite && isWorthRewriting(stored, objects.length);
    if (isRewritten) replaceObjects(tx, stored.objects);
    await done;
    this.#mayHaveRows = !isRewritten && stored.rows > 0;
    this.#mayHavePacks = isRewritten || stored.packed > 0;
    this.#packed = objects.length;
    this.#packedAgain = 0;
    return [...others, ...objects];
  }

  async commit(writes: readonly LocalWrite[], options: CommitOptions = {}): Promise<void> {
    await this.#connection.newLog;
    this.#connection.requireOpen();
    const tables = new Set<string>(writes.map(({ table }) => table));
    // What was deleted before may still be in packs.
    if (options.scrubs === true) tables.add('objects');
    const names = [FENCE, ...tables, ...(tables.has('objects') ? [PACKS] : [])];
    const durability = options.isRepeatable === true ? 'relaxed' : 'strict';
    await this.#connection.run([names, 'readwrite', { durability }], (tx) => this.#commitIn(tx, writes, options));
  }

  files(): Promise<FileDirectory> {
    this.#files ??= this.#openFiles().catch((error: unknown) => {
      this.#files = null;
      throw error;
    });
    return this.#files;
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  onLost(listener: (error: ClientError) => void): void {
    this.#connection.onLost(listener);
  }

  async #commitIn(tx: IndexedDbTransaction, writes: readonly LocalWrite[], options: CommitOptions): Promise<void> {
    const done = finished(tx);
    // A request that fails says why.
    done.catch(() => undefined);
    // The check and the writes are one transaction, so that no other tab can interfere.
    const fence = tx.objectStore(FENCE).get(OWNER_KEY);
    if (!this.#isTaken) tx.objectStore(FENCE).put(this.#owner, OWNER_KEY);
    let [isForeign, isRewritten] = [false, false];
    fence.onsuccess = () => {
      isForeign = this.#isTaken && fence.result !== this.#owner;
      if (isForeign) tx.abort();
      else isRewritten = this.#write(tx, writes, options);
    };
    await done.catch((error: unknown) => {
      throw isForeign ? clientError('store_in_use', 'another tab or window has opened this device') : error;
    });
    this.#isTaken = true;
    if (isRewritten) this.#mayHaveRows = false;
  }

  /** Returns true if it writes all objects anew. */
  #write(tx: IndexedDbTransaction, writes: readonly LocalWrite[], { scrubs, isRepeatable }: CommitOptions): boolean {
    const objects = writes.filter(({ table }) => table === 'objects');
    for (const write of writes) if (write.table !== 'objects') writeRow(tx, write);
    if (objects.length === 0 && scrubs !== true) return false;
    const deletes = objects.filter(({ value }) => value === undefined).length;
    // First syncs, whose commits are repeatable, replace nothing.
    if (isRepeatable !== true && objects.length >= PACKS_FROM_OBJECTS) this.#packedAgain += objects.length;
    const isWasteful = this.#packedAgain > Math.max(PACKED_AGAIN_MIN, this.#packed);
    if (scrubs === true || deletes >= REWRITE_FROM_DELETES || isWasteful) {
      this.#rewrite(tx, objects).catch(() => abort(tx));
      return true;
    }
    if (objects.length >= PACKS_FROM_OBJECTS) this.#pack(tx, objects);
    else for (const write of objects) this.#writeObject(tx, write);
    return false;
  }

  /** Writes all objects anew, so that nothing outdated is left. */
  async #rewrite(tx: IndexedDbTransaction, writes: readonly LocalWrite[]): Promise<void> {
    const { objects } = await readObjects(tx);
    applyWrites(objects, writes);
    replaceObjects(tx, objects);
    this.#mayHavePacks = true;
    this.#packed = rowsOfObjects(objects).length;
    this.#packedAgain = 0;
  }

  #pack(tx: IndexedDbTransaction, writes: readonly LocalWrite[]): void {
    const objects: StoredObjects['objects'] = new Map();
    applyWrites(objects, writes);
    const isPut = ([first, id]: LocalWrite['key']) => objects.get(first)?.has(id) === true;
    // A row would count instead of the pack.
    for (const { table, key } of writes) if (this.#mayHaveRows && isPut(key)) writeRow(tx, { table, key });
    for (const { table, key } of writes) if (!isPut(key)) this.#writeObject(tx, { table, key });
    this.#mayHavePacks = true;
    writePacks(tx, objects);
  }

  #writeObject(tx: IndexedDbTransaction, write: LocalWrite): void {
    this.#mayHaveRows = true;
    if (write.value === undefined && this.#mayHavePacks) tx.objectStore('objects').put(undefined, [...write.key]);
    else writeRow(tx, write);
  }
}

/** True if the packs hold much that is outdated, or much is stored in single rows, which take long to read. */
function isWorthRewriting({ packed, rows }: StoredObjects, objects: number): boolean {
  return rows > ROWS_BESIDE_PACKS_MAX || packed > PACKED_AGAIN_MIN + 2 * objects;
}

function abort(tx: IndexedDbTransaction): void {
  try {
    tx.abort();
  } catch {
    // It is aborted already.
  }
}

function writeRow(tx: IndexedDbTransaction, { table, key, value }: LocalWrite): void {
  const store = tx.objectStore(table);
  if (value === undefined) store.delete([...key]);
  else store.put(value, [...key]);
}

async function rowsOf(tx: IndexedDbTransaction, table: Table): Promise<readonly LocalRow[]> {
  const store = tx.objectStore(table);
  const [keys, values] = await Promise.all([answered(store.getAllKeys()), answered(store.getAll())]);
  return keys.map((key, index) => ({ table, key: key as [string, string], value: values[index] as JsonValue }));
}

/** Returns the store that has the database; undefined: it was never loaded. */
function ownerOf(db: IndexedDb): Promise<unknown> {
  return answered(db.transaction([FENCE], 'readonly').objectStore(FENCE).get(OWNER_KEY));
}

function opened(factory: IndexedDbFactory, name: string): Promise<IndexedDb> {
  const request = factory.open(name, VERSION);
  request.onupgradeneeded = () => {
    const { result: db } = request;
    const missing = [...TABLES, FENCE].filter((table) => !db.objectStoreNames.contains(table));
    for (const table of missing) db.createObjectStore(table);
    db.createObjectStore(PACKS, { autoIncrement: true });
  };
  return answered(request);
}

function browserFactory(): IndexedDbFactory {
  const { indexedDB } = globalThis as unknown as { readonly indexedDB?: IndexedDbFactory };
  if (indexedDB === undefined) throw clientError('store_failed', 'this platform has no IndexedDB');
  return indexedDB;
}
