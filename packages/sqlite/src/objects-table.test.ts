import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LocalStore, LocalWrite } from '@tidemark/client';
import { addChecksums, attributesChecksum, keysOf } from '@tidemark/protocol';
import sqlite from 'node-sqlite3-wasm';
import { expect, it, onTestFinished } from 'vitest';
import { wasmSqlite } from './drivers/wasm-sqlite.ts';
import { openSqliteStore } from './sqlite-store.ts';

async function newFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'device.db');
}

const openAt = (file: string): Promise<LocalStore> => openSqliteStore(wasmSqlite(new sqlite.Database(file)));
const object = (id: string, value: string): LocalWrite => ({ table: 'objects', key: ['Order', id], value });

it('[DISK-2] a scan without a limit gives everything behind what it leaves out', async () => {
  const store = await openAt(await newFile());
  await store.commit([object('a', 'one'), object('b', 'two'), object('c', 'three')]);
  const order = { first: 'Order', path: null, range: null, isDescending: false, after: null };
  const found = await store.disk?.scan({ ...order, skip: 1, limit: Number.POSITIVE_INFINITY });
  expect(found?.map(([id]) => id)).toEqual(['b', 'c']);
  await store.close();
});

/** The tables as version 1 made them. */
const VERSION_1 = `
CREATE TABLE rows (
  name TEXT NOT NULL, part TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, part, key)
) WITHOUT ROWID;
INSERT INTO rows VALUES ('objects', 'Order', 'a', '{"n":1}'), ('objects', '!"a\\u0000"', '!"!b"', '{"n":"ü"}'), ('facts', '', 'owner', '2');
PRAGMA application_id = 0x54696465; PRAGMA user_version = 1`;

it('[SQLITE-7] a database of version 1 is converted, and keeps every row, with checksums of the objects', async () => {
  const file = await newFile();
  const old = new sqlite.Database(file);
  old.exec(VERSION_1);
  old.close();
  for (let start = 0; start < 2; start++) {
    const store = await openAt(file);
    expect((await store.load()).toSorted((left, right) => (left.key[0] < right.key[0] ? -1 : 1))).toEqual([
      { table: 'facts', key: ['', 'owner'], value: 2 },
      { table: 'objects', key: ['Order', 'a'], value: { n: 1 } },
      { table: 'objects', key: ['a\0', '!b'], value: { n: 'ü' } },
    ]);
    const checksum = attributesChecksum('a', { n: 1 });
    expect(await store.disk?.measure('Order')).toEqual({ size: 1, checksum });
    await store.close();
  }
});

/** More than the store reads at once. */
const MANY = 5_003;

it('[SQLITE-7] a database of version 1 is converted whole, however many objects it has', async () => {
  const file = await newFile();
  const old = new sqlite.Database(file);
  old.exec(VERSION_1);
  const numbers = `WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ${MANY})`;
  old.exec(`INSERT INTO rows ${numbers} SELECT 'objects', 'Part', at, '{}' FROM n`);
  old.close();
  const store = await openAt(file);
  expect((await store.disk?.measure('Part'))?.size).toBe(MANY);
  await store.close();
});

it('[DISK-2] more objects than are read at once are loaded, measured and indexed once each', async () => {
  const store = await openAt(await newFile());
  const ids = Array.from({ length: MANY }, (_, at) => `${at}`.padStart(5, '0'));
  await store.commit(ids.map((id) => ({ table: 'objects', key: ['Part', id], value: { n: 1 } }) as const));
  expect((await store.load()).map(({ key }) => key[1])).toEqual(ids);
  const checksum = ids.map((id) => attributesChecksum(id, { n: 1 })).reduce(addChecksums, 0);
  expect(await store.disk?.measure('Part')).toEqual({ size: MANY, checksum });
  await store.disk?.addIndex('Part', 'n');
  expect(await store.disk?.count({ first: 'Part', path: 'n', range: keysOf(1) }, MANY + 1)).toBe(MANY);
  await store.close();
});

it('[DISK-2] an index that could not be made is not there, and is made by the next call', async () => {
  const driver = wasmSqlite(new sqlite.Database(await newFile()));
  let isFull = true;
  const store = await openSqliteStore({
    ...driver,
    run: (statement, values) => {
      if (isFull && statement.startsWith('CREATE INDEX')) throw new Error('database or disk is full');
      return driver.run(statement, values);
    },
  });
  await store.commit([{ table: 'objects', key: ['Part', 'a'], value: { n: 1 } }]);
  const count = () => store.disk?.count({ first: 'Part', path: 'n', range: keysOf(1) }, 9);
  await expect(store.disk?.addIndex('Part', 'n')).rejects.toMatchObject({ code: 'storage_full' });
  await expect(count()).rejects.toThrow('there is no index');
  isFull = false;
  await store.disk?.addIndex('Part', 'n');
  expect(await count()).toBe(1);
  await store.close();
});

it('[DISK-2] an index that is made behind the objects of groups finds them in the source that is made of them', async () => {
  const store = await openAt(await newFile());
  const [PART, OWNERS, NORTH] = ['Part', 'Part\u001e', 'Part\u001fnorth'];
  await store.commit([{ table: 'objects', key: [NORTH, 'a'], value: { n: 1 } }]);
  await store.disk?.addIndex(PART, 'n');
  const union = { first: PART, owners: OWNERS, groups: [['north', NORTH]] as const };
  await store.commit([], { disk: { drops: [], moves: [], unions: [union] } });
  expect(await store.disk?.count({ first: PART, path: 'n', range: keysOf(1) }, 9)).toBe(1);
  await store.close();
});

it('[SQLITE-10] an object whose value was changed on the disk is never taken for what was written', async () => {
  const file = await newFile();
  const first = await openAt(file);
  await first.commit([
    { table: 'objects', key: ['Order', 'a'], value: { total: 10 } },
    { table: 'objects', key: ['Order', 'b'], value: { total: 20 } },
  ]);
  await first.close();
  const other = new sqlite.Database(file);
  other.exec('PRAGMA locking_mode = EXCLUSIVE');
  other.exec(`UPDATE objects SET value = '{"total":11}' WHERE id = 'a'`);
  other.close();
  const order = { first: 'Order', path: null, range: null, isDescending: false, after: null, skip: 0 };
  const store = await openAt(file);
  expect(await store.disk?.read([['Order', 'b']])).toEqual([{ total: 20 }]);
  await expect(
    store.disk?.read([
      ['Order', 'b'],
      ['Order', 'a'],
    ]),
  ).rejects.toMatchObject({ code: 'store_damaged' });
  await expect(store.disk?.scan({ ...order, limit: 1 })).rejects.toMatchObject({ code: 'store_damaged' });
  await store.close();
});
