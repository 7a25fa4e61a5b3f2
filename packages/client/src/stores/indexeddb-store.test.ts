import { localStoreContract } from '@tidemark/testing';
import { IDBFactory } from 'fake-indexeddb';
import { describe, expect, it } from 'vitest';
import type { IndexedDbFactory } from './indexeddb.ts';
import { openIndexedDbStore } from './indexeddb-store.ts';

const newFactory = () => new IDBFactory() as unknown as IndexedDbFactory;

localStoreContract('the IndexedDB store', {
  isDurable: true,
  newPlace: async () => {
    const indexedDB = newFactory();
    return { open: () => openIndexedDbStore({ indexedDB }), remove: async () => undefined };
  },
});

describe('a database in two tabs', () => {
  it('[LOCAL-6] a database belongs to the tab that loaded it last, and the other tab cannot write any more', async () => {
    const indexedDB = newFactory();
    const first = await openIndexedDbStore({ indexedDB });
    await first.load();
    await first.commit([{ table: 'facts', key: ['', 'a'], value: 1 }]);
    const second = await openIndexedDbStore({ indexedDB });
    await second.load();
    await expect(first.commit([{ table: 'facts', key: ['', 'a'], value: 2 }])).rejects.toMatchObject({
      code: 'store_in_use',
    });
    await second.commit([{ table: 'facts', key: ['', 'b'], value: 3 }]);
    expect(await second.load()).toEqual([
      { table: 'facts', key: ['', 'a'], value: 1 },
      { table: 'facts', key: ['', 'b'], value: 3 },
    ]);
  });

  it('[TABS-6] stores that begin a new log do not wait for each other, and leave no other database behind', async () => {
    const indexedDB = newFactory();
    const opened: string[] = [];
    const frozen: IndexedDbFactory = {
      open: (name, version) => {
        opened.push(name);
        // A tab that is frozen does not close what it has opened.
        if (name !== 'tidemark') indexedDB.open(name, version);
        return indexedDB.open(name, version);
      },
      deleteDatabase: (name) => indexedDB.deleteDatabase(name),
    };
    await (await openIndexedDbStore({ indexedDB: frozen })).load();
    const store = await openIndexedDbStore({ indexedDB });
    await store.load();
    await store.commit([{ table: 'facts', key: ['', 'a'], value: 1 }]);
    const { databases } = indexedDB as unknown as { databases(): Promise<readonly { readonly name: string }[]> };
    const names = (await databases.call(indexedDB)).map(({ name }) => name);
    expect(names.filter((name) => !opened.includes(name))).toEqual([]);
    expect(opened).toHaveLength(2);
  });

  it('[LOCAL-6] databases with other names are other devices', async () => {
    const indexedDB = newFactory();
    const first = await openIndexedDbStore({ indexedDB, name: 'one' });
    const second = await openIndexedDbStore({ indexedDB, name: 'two' });
    await first.commit([{ table: 'facts', key: ['', 'a'], value: 1 }]);
    expect(await second.load()).toEqual([]);
  });

  it('[LOCAL-2] a value that cannot be stored refuses the whole commit', async () => {
    const store = await openIndexedDbStore({ indexedDB: newFactory() });
    const notJson = (() => undefined) as unknown as null;
    const writes = [
      { table: 'facts', key: ['', 'a'], value: 1 },
      { table: 'facts', key: ['', 'b'], value: notJson },
    ] as const;
    await expect(store.commit(writes)).rejects.toThrow();
    expect(await store.load()).toEqual([]);
  });
});
