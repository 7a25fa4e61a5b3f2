import { localStoreContract, Rng, seededRandom } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { KEY_VALUE_LOG_MAX, KEY_VALUE_UNITS_MAX } from '../limits.ts';
import type { LocalRow, LocalWrite } from '../ports/local-store.ts';
import { type KeyValueStorage, type KeyValueStorage3, openKeyValueStore } from './key-value-store.ts';

/** Stands in for AsyncStorage, at its worst: it writes key by key, and may die between two. */
class KeyByKeyStorage implements KeyValueStorage {
  readonly items = new Map<string, string>();
  writesLeft = Number.POSITIVE_INFINITY;

  async getAllKeys() {
    return [...this.items.keys()];
  }

  async multiGet(keys: readonly string[]) {
    return keys.map((key) => [key, this.items.get(key) ?? null] as const);
  }

  async multiSet(pairs: [string, string][]) {
    for (const [key, value] of pairs) {
      this.#countWrite();
      expect(value.length).toBeLessThanOrEqual(KEY_VALUE_UNITS_MAX * 2);
      this.items.set(key, value);
    }
  }

  async multiRemove(keys: string[]) {
    for (const key of keys) {
      this.#countWrite();
      this.items.delete(key);
    }
  }

  #countWrite() {
    if (this.writesLeft-- <= 0) throw new Error('the process died');
  }
}

localStoreContract('the key-value store', {
  isDurable: true,
  newPlace: async () => {
    const storage = new KeyByKeyStorage();
    await storage.multiSet([['of the app', 'untouched']]);
    return {
      open: () => openKeyValueStore(storage),
      remove: async () => expect(storage.items.get('of the app')).toBe('untouched'),
    };
  },
});

localStoreContract('the key-value store over AsyncStorage 3', {
  isDurable: true,
  newPlace: async () => {
    const { items } = new KeyByKeyStorage();
    const storage: KeyValueStorage3 = {
      getAllKeys: async () => [...items.keys()],
      getMany: async (keys) => Object.fromEntries(keys.map((key) => [key, items.get(key) ?? null])),
      setMany: async (entries) => {
        for (const [key, value] of Object.entries(entries)) items.set(key, value);
      },
      removeMany: async (keys) => {
        for (const key of keys) items.delete(key);
      },
    };
    return { open: () => openKeyValueStore(storage), remove: async () => undefined };
  },
});

const inOrder = (rows: readonly LocalRow[]) => rows.map((row) => JSON.stringify(row)).sort();

it('[LOCAL-7] a process that dies between any two keys keeps every commit that resolved, and no other by half', async () => {
  const commits = drawCommits();
  for (let writes = 1; writes < 400; writes += 3) {
    const storage = new KeyByKeyStorage();
    storage.writesLeft = writes;
    const states: string[][] = [[]];
    const oracle = new Map<string, LocalRow>();
    const store = await openKeyValueStore(storage);
    let resolved = 0;
    for (const commit of commits) {
      for (const { table, key, value } of commit) {
        if (value === undefined) oracle.delete(JSON.stringify([table, key]));
        else oracle.set(JSON.stringify([table, key]), { table, key, value });
      }
      states.push(inOrder([...oracle.values()]));
      const isStored = await store.commit(commit).then(
        () => true,
        () => false,
      );
      if (!isStored) break;
      resolved++;
    }
    storage.writesLeft = Number.POSITIVE_INFINITY;
    const found = inOrder(await (await openKeyValueStore(storage)).load());
    expect(states[resolved]).toEqual(found);
  }
});

it('[LOCAL-7] a commit that is too long for one key is split, and its parts go with it', async () => {
  const storage = new KeyByKeyStorage();
  const store = await openKeyValueStore(storage, { name: 'long' });
  const value = 'x'.repeat(KEY_VALUE_UNITS_MAX * 2);
  const many = Array.from({ length: 3 }, (_, at): LocalWrite => ({ table: 'facts', key: ['', String(at)], value: at }));
  await store.commit([...many, { table: 'facts', key: ['', 'long'], value: value.slice(0, KEY_VALUE_UNITS_MAX) }]);
  expect((await store.load()).length).toBe(4);
  for (let count = 0; count <= KEY_VALUE_LOG_MAX; count++) await store.commit(many);
  expect((await store.load()).length).toBe(4);
  expect([...storage.items.keys()].filter((key) => key.includes('/part/'))).toEqual([]);
  expect([...storage.items.keys()].filter((key) => key.includes('/log/')).length).toBeLessThanOrEqual(
    KEY_VALUE_LOG_MAX,
  );
});

it('[LOCAL-13] a commit that finds the storage full says storage_full, and the store goes on when there is room again', async () => {
  const storage = new KeyByKeyStorage();
  const store = await openKeyValueStore(storage);
  const multiSet = storage.multiSet.bind(storage);
  storage.multiSet = () => Promise.reject(new Error('database or disk is full (code 13 SQLITE_FULL)'));
  await expect(store.commit([{ table: 'facts', key: ['', 'a'], value: 1 }])).rejects.toMatchObject({
    code: 'storage_full',
  });
  storage.multiSet = multiSet;
  await store.commit([{ table: 'facts', key: ['', 'b'], value: 2 }]);
  expect(await store.load()).toEqual([{ table: 'facts', key: ['', 'b'], value: 2 }]);
});

function drawCommits(): readonly (readonly LocalWrite[])[] {
  const rng = new Rng(seededRandom(11));
  return Array.from({ length: 3 * KEY_VALUE_LOG_MAX }, () =>
    Array.from({ length: rng.between(1, 3) }, (): LocalWrite => {
      const place = { table: 'objects', key: ['s', rng.pick(['a', 'b', 'c', 'd'])] } as const;
      return rng.chance(30) ? place : { ...place, value: rng.below(100) };
    }),
  );
}
