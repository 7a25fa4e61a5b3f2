import { FILE_ENTRY_BYTES } from '../limits.ts';
import type { FileDirectory } from '../ports/file-directory.ts';
import { answered, finished, type IndexedDbFactory, type IndexedDbTransaction } from './indexeddb.ts';
import { IndexedDbConnection } from './indexeddb-connection.ts';

/** Since 2 an entry may be larger than `FILE_PIECE_BYTES`, which earlier versions of the SDK would take for damaged. */
const VERSION = 2;
const ENTRIES = 'entries';

/** Keeps the bytes of files in a database of their own, each entry as a value. Browsers put large values into files. */
export async function openIndexedDbFiles(factory: IndexedDbFactory, device: string): Promise<FileDirectory> {
  const name = `${device}:files`;
  const request = factory.open(name, VERSION);
  request.onupgradeneeded = () => {
    const { result: db } = request;
    if (!db.objectStoreNames.contains(ENTRIES)) db.createObjectStore(ENTRIES);
  };
  const connection = new IndexedDbConnection(await answered(request), {
    ...{ factory, name, version: VERSION, owner: '', isSame: async () => true },
  });
  const run = <T>(mode: 'readonly' | 'readwrite', work: (tx: IndexedDbTransaction) => Promise<T>) =>
    runIn(connection, mode, work);
  return {
    entryBytes: FILE_ENTRY_BYTES,
    read: (entry) =>
      run('readonly', async (tx) => {
        const value = (await answered(tx.objectStore(ENTRIES).get(entry))) as ArrayBuffer | undefined;
        return value === undefined ? null : new Uint8Array(value);
      }),
    write: (entry, bytes) =>
      run('readwrite', async (tx) => {
        // A view of a larger buffer would store all of it.
        const { buffer } = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
        tx.objectStore(ENTRIES).put(buffer, entry);
      }),
    delete: (names) =>
      run('readwrite', async (tx) => {
        for (const entry of names) tx.objectStore(ENTRIES).delete(entry);
      }),
    has: (entry) =>
      run('readonly', async (tx) => (await answered(tx.objectStore(ENTRIES).getKey(entry))) !== undefined),
    list: () => run('readonly', async (tx) => (await answered(tx.objectStore(ENTRIES).getAllKeys())) as string[]),
  };
}

async function runIn<T>(
  connection: IndexedDbConnection,
  mode: 'readonly' | 'readwrite',
  work: (tx: IndexedDbTransaction) => Promise<T>,
): Promise<T> {
  const results: T[] = [];
  await connection.run([[ENTRIES], mode, { durability: 'strict' }], async (tx) => {
    const done = finished(tx);
    // A request that fails says why.
    done.catch(() => undefined);
    results[0] = await work(tx);
    await done;
  });
  return results[0] as T;
}
