import { Rng, seededRandom } from '@tidemark/testing';
import { IDBFactory } from 'fake-indexeddb';
import { expect, it } from 'vitest';
import {
  PACK_OBJECTS_MAX,
  PACK_UNITS_MAX,
  PACKED_AGAIN_MIN,
  PACKS_FROM_OBJECTS,
  REWRITE_FROM_DELETES,
  ROWS_BESIDE_PACKS_MAX,
} from '../limits.ts';
import { type LocalRow, type LocalWrite, TABLES } from '../ports/local-store.ts';
import { answered, type IndexedDbFactory, type IndexedDbTransaction } from './indexeddb.ts';
import { openIndexedDbStore } from './indexeddb-store.ts';
import { writePacks } from './object-packs.ts';

const newFactory = () => new IDBFactory() as unknown as IndexedDbFactory;

const put = (id: number, value: LocalWrite['value']): LocalWrite => ({
  table: 'objects',
  key: [id % 3 === 0 ? 'Order' : 'Product', String(id)],
  ...(value === undefined ? {} : { value }),
});

const puts = (count: number, value: LocalWrite['value'], from = 0) =>
  Array.from({ length: count }, (_, index) => put(from + index, value));

const asMap = (rows: readonly LocalRow[]) => new Map(rows.map(({ key, value }) => [key.join(' '), value] as const));

/** Everything that the database holds of objects, past the store. */
async function stored(factory: IndexedDbFactory) {
  const db = await answered(factory.open('tidemark', 2));
  const tx = db.transaction(['objects', 'packs'], 'readonly');
  const [rows, packs] = await Promise.all([
    answered(tx.objectStore('objects').getAll()),
    answered(tx.objectStore('packs').getAll()),
  ]);
  db.close();
  return { rows, packs };
}

it('[LOCAL-10] any sequence of large and small commits of objects leaves what a plain map would hold, also after reopening', async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const rng = new Rng(seededRandom(seed));
    const below = (count: number) => rng.below(count);
    const indexedDB = newFactory();
    const model = new Map<string, unknown>();
    let store = await openIndexedDbStore({ indexedDB });
    for (let commit = 0; commit < 12; commit++) {
      const isLarge = below(2) === 0;
      const writes = Array.from({ length: isLarge ? PACKS_FROM_OBJECTS + below(100) : 1 + below(5) }, () =>
        put(below(600), below(4) === 0 ? undefined : { commit, text: 'é\u2028"\\' }),
      );
      await store.commit(writes, { scrubs: below(6) === 0, isRepeatable: below(2) === 0 });
      for (const { key, value } of writes) {
        if (value === undefined) model.delete(key.join(' '));
        else model.set(key.join(' '), value);
      }
      // A store that is opened again and not loaded knows nothing of what is stored.
      if (below(4) === 0) store = await openIndexedDbStore({ indexedDB });
      if (below(4) === 0) expect(asMap(await store.load())).toEqual(model);
    }
    expect(asMap(await store.load())).toEqual(model);
  }
});

it('[LOCAL-10] many objects of one commit are stored as a few packs, and a single change as a row', async () => {
  const indexedDB = newFactory();
  const store = await openIndexedDbStore({ indexedDB });
  await store.load();
  await store.commit(puts(PACKS_FROM_OBJECTS, { total: 1 }));
  await store.commit([put(1, { total: 2 }), put(2, undefined)]);
  const { rows, packs } = await stored(indexedDB);
  expect({ rows, packs: packs.length }).toEqual({ rows: [{ total: 2 }, undefined], packs: 2 });
});

it('[LOCAL-8] packs are written anew by a commit that scrubs and by one that deletes many objects', async () => {
  for (const [count, options] of [
    [PACKS_FROM_OBJECTS, { scrubs: true }],
    [REWRITE_FROM_DELETES, {}],
  ] as const) {
    const indexedDB = newFactory();
    const store = await openIndexedDbStore({ indexedDB });
    await store.load();
    await store.commit(puts(count, { name: 'a secret' }));
    await store.commit([put(0, { name: 'a secret, too' })]);
    await store.commit([...puts(count, undefined), put(count, { name: 'kept' })], options);
    const { rows, packs } = await stored(indexedDB);
    expect(rows).toEqual([]);
    expect(packs.join()).not.toContain('secret');
    expect(packs.join()).toContain('kept');
  }
});

it('[LOCAL-8] a commit that scrubs also removes objects that were deleted or replaced before it, and keeps the others', async () => {
  for (const writes of [[put(0, undefined)], [{ table: 'facts', key: ['', 'session'] }]] as const) {
    const indexedDB = newFactory();
    const store = await openIndexedDbStore({ indexedDB });
    await store.load();
    await store.commit(puts(PACKS_FROM_OBJECTS, { name: 'a secret' }));
    await store.commit(puts(PACKS_FROM_OBJECTS / 2, { name: 'replaced' }));
    await store.commit(puts(PACKS_FROM_OBJECTS / 2, undefined, PACKS_FROM_OBJECTS / 2));
    await store.commit(puts(PACKS_FROM_OBJECTS / 2, { name: 'kept' }));
    await store.commit(writes, { scrubs: true });
    const { rows, packs } = await stored(indexedDB);
    expect(rows).toEqual([]);
    expect(packs.join()).not.toMatch(/secret|replaced/);
    const kept = puts(PACKS_FROM_OBJECTS / 2, { name: 'kept' }) as LocalRow[];
    expect(asMap(await store.load())).toEqual(asMap(writes[0].table === 'objects' ? kept.slice(1) : kept));
  }
});

it('[LOCAL-10] objects that are packed again and again do not let the database grow without bound', async () => {
  const indexedDB = newFactory();
  const store = await openIndexedDbStore({ indexedDB });
  await store.load();
  const objects = 2_000;
  for (let packed = 0; packed < 2 * PACKED_AGAIN_MIN; packed += objects) await store.commit(puts(objects, { packed }));
  const { packs } = await stored(indexedDB);
  const entries = packs.map((text) => (JSON.parse(text as string) as [string, unknown[]])[1].length);
  expect(entries.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(PACKED_AGAIN_MIN + 2 * objects);
});

it('[LOCAL-10] a database of the version before packs is read, and its objects are packed', async () => {
  const indexedDB = newFactory();
  const request = indexedDB.open('tidemark', 1);
  request.onupgradeneeded = () => {
    for (const table of [...TABLES, 'fence']) request.result.createObjectStore(table);
  };
  const db = await answered(request);
  const tx = db.transaction(['objects'], 'readwrite');
  const writes = puts(ROWS_BESIDE_PACKS_MAX + 1, { total: 1 });
  for (const { key, value } of writes) tx.objectStore('objects').put(value, [...key]);
  db.close();
  const store = await openIndexedDbStore({ indexedDB });
  const expected = asMap(writes as LocalRow[]);
  expect(asMap(await store.load())).toEqual(expected);
  expect((await stored(indexedDB)).rows).toEqual([]);
  expect(asMap(await store.load())).toEqual(expected);
});

/** The numbers of objects in the packs of these rows, which are written one by one. */
function packsOf(rows: readonly LocalWrite[]): readonly number[] {
  const written: { readonly text: string; readonly request: { onsuccess: (() => void) | null } }[] = [];
  const put = (text: string) => {
    const request = { onsuccess: null };
    written.push({ text, request });
    return request;
  };
  const tx = { objectStore: () => ({ put }) } as unknown as IndexedDbTransaction;
  const entries = rows.map((row) => [row.key[1], row as LocalRow] as const);
  writePacks(tx, new Map([['Order', new Map(entries)]]));
  const counts: number[] = [];
  for (const { text, request } of written) {
    counts.push((JSON.parse(text) as [string, unknown[]])[1].length);
    expect(written).toHaveLength(counts.length);
    request.onsuccess?.();
  }
  return counts;
}

it('[TABS-7] packs are made one by one, each when the one before is written', () => {
  const rows = puts(2 * PACK_OBJECTS_MAX + 1, { n: 1 });
  expect(packsOf(rows)).toEqual([PACK_OBJECTS_MAX, PACK_OBJECTS_MAX, 1]);
});

it('[LOCAL-10] an object that is larger than a pack has one of its own, and no pack is empty', () => {
  const large = { text: 'x'.repeat(PACK_UNITS_MAX) };
  expect(packsOf([put(0, large), put(1, { n: 1 }), put(2, large), put(3, { n: 1 })])).toEqual([1, 1, 1, 1]);
});

/** A browser that gives the site no more room after some packs. */
function limited(room: { packs: number }): IndexedDbFactory {
  const factory = newFactory();
  const limit = (tx: IndexedDbTransaction) => {
    const objectStore = tx.objectStore.bind(tx);
    tx.objectStore = (name) => {
      const table = objectStore(name);
      if (name !== 'packs' || Object.hasOwn(table, 'put')) return table;
      const write = table.put.bind(table);
      table.put = (...row) => {
        const request = write(...row);
        if (room.packs-- > 0) return request;
        Object.defineProperty(tx, 'error', { value: new DOMException('', 'QuotaExceededError') });
        queueMicrotask(() => tx.abort());
        return request;
      };
      return table;
    };
    return tx;
  };
  const open: IndexedDbFactory['open'] = (name, version) => {
    const request = factory.open(name, version);
    (request as unknown as EventTarget).addEventListener('success', () => {
      const { result: db } = request;
      const begin = db.transaction.bind(db);
      db.transaction = (...given) => limit(begin(...given));
    });
    return request;
  };
  return { open, deleteDatabase: (name) => factory.deleteDatabase(name) };
}

it('[LOCAL-13] a database without room for several packs refuses them all, and is read although there is no room to write it anew', async () => {
  const room = { packs: Number.POSITIVE_INFINITY };
  const indexedDB = limited(room);
  const store = await openIndexedDbStore({ indexedDB });
  await store.load();
  const rows = puts(ROWS_BESIDE_PACKS_MAX + 1, { n: 1 });
  for (let at = 0; at < rows.length; at += 100) await store.commit(rows.slice(at, at + 100));
  room.packs = 1;
  const many = puts(3 * PACK_OBJECTS_MAX, { n: 2 });
  await expect(store.commit(many)).rejects.toMatchObject({ code: 'storage_full' });
  await store.close();
  const again = await openIndexedDbStore({ indexedDB });
  const firsts: (readonly LocalRow[])[] = [];
  expect(asMap(await again.load((first) => firsts.push(first)))).toEqual(asMap(rows as readonly LocalRow[]));
  expect(firsts).toEqual([[]]);
  room.packs = Number.POSITIVE_INFINITY;
  await again.commit(many);
  await again.close();
  expect(asMap(await (await openIndexedDbStore({ indexedDB })).load())).toEqual(
    asMap([...rows, ...many] as readonly LocalRow[]),
  );
});
