import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalStore, type LocalWrite, openDevice } from '@tidemark/client';
import { type LocalStoreEngine, openTestServer } from '@tidemark/client-testing';
import { diskPartContract, localStoreContract } from '@tidemark/testing';
import sqlite from 'node-sqlite3-wasm';
import { expect, it, onTestFinished } from 'vitest';
import { type ExpoSqliteDatabase, expoSqlite } from './drivers/expo-sqlite.ts';
import { nodeSqlite } from './drivers/node-sqlite.ts';
import { type OpSqliteDatabase, opSqlite } from './drivers/op-sqlite.ts';
import { wasmSqlite } from './drivers/wasm-sqlite.ts';
import type { SqliteDriver, SqliteRow, SqliteValue } from './sqlite-driver.ts';
import { openSqliteStore } from './sqlite-store.ts';
import { sqliteOfNode } from './testing/sqlites.ts';

type Database = InstanceType<typeof sqlite.Database>;

/** The calls of `expo-sqlite` over another SQLite, since that one runs on phones alone. */
function asExpo(database: Database): ExpoSqliteDatabase {
  return {
    execAsync: async (statements) => database.exec(statements),
    runAsync: async (statement, values) => database.run(statement, values),
    getAllAsync: async <T>(query: string, values: SqliteValue[]) => database.all(query, values) as T[],
    closeAsync: async () => database.close(),
  };
}

/** The calls of `op-sqlite`, which runs one statement a call. */
function asOp(database: Database): OpSqliteDatabase {
  return {
    execute: async (statement, values = []) => ({ rows: database.all(statement, values) as SqliteRow[] }),
    close: () => database.close(),
  };
}

/** The calls of `node:sqlite` and `better-sqlite3`. */
function asNode(database: Database) {
  return {
    exec: (statements: string) => database.exec(statements),
    prepare: (text: string) => ({
      run: (...values: SqliteValue[]) => database.run(text, values),
      all: (...values: SqliteValue[]) => database.all(text, values),
    }),
    close: () => database.close(),
  };
}

const DRIVERS: Readonly<Record<string, (database: Database) => SqliteDriver>> = {
  'node-sqlite3-wasm': (database) => wasmSqlite(database),
  'expo-sqlite': (database) => expoSqlite(asExpo(database)),
  'op-sqlite': (database) => opSqlite(asOp(database)),
  'node:sqlite': (database) => nodeSqlite(asNode(database)),
};

async function newFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'tidemark-test-'));
}

const own = await sqliteOfNode();
const STORES: readonly (readonly [title: string, open: (file: string) => SqliteDriver])[] = [
  ...Object.entries(DRIVERS).map(
    ([name, driverOf]) => [`with the calls of ${name}`, (file: string) => driverOf(new sqlite.Database(file))] as const,
  ),
  ...(own === null ? [] : [['of this Node.js', (file: string) => nodeSqlite(own(file))] as const]),
];

for (const [title, open] of STORES) {
  const engine: LocalStoreEngine = {
    isDurable: true,
    newPlace: async () => {
      const folder = await newFolder();
      const file = join(folder, 'device.db');
      return {
        open: () => openSqliteStore(open(file)),
        remove: () => rm(folder, { recursive: true }),
      };
    },
  };
  localStoreContract(`the SQLite store ${title}`, engine);
  diskPartContract(`the SQLite store ${title}`, engine);
}

async function newFile(): Promise<string> {
  const folder = await newFolder();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'device.db');
}

const openAt = (file: string): Promise<LocalStore> => openSqliteStore(wasmSqlite(new sqlite.Database(file)));
const object = (id: string, value: string): LocalWrite => ({ table: 'objects', key: ['Order', id], value });

/** What a process that dies now leaves on the disk. */
async function copyOf(file: string): Promise<string> {
  const copy = await newFile();
  await copyFile(file, copy);
  await copyFile(`${file}-wal`, `${copy}-wal`).catch(() => undefined);
  return copy;
}

async function namesIn(file: string): Promise<readonly string[]> {
  const store = await openAt(file);
  const rows = await store.load();
  await store.close();
  return rows.map(({ key }) => key[1]).toSorted();
}

it('[SQLITE-1] what was committed is there after a kill, and what was not is not, wherever the log is cut', async () => {
  const file = await newFile();
  const store = await openAt(file);
  await store.commit([object('a', 'one')]);
  const first = await copyOf(file);
  await store.commit([object('b', 'two'), object('c', 'two')]);
  const second = await copyOf(file);
  const log = await readFile(`${second}-wal`);
  expect([await namesIn(first), await namesIn(second)]).toEqual([['a'], ['a', 'b', 'c']]);
  for (let part = 0; part <= 20; part++) {
    const cut = await copyOf(first);
    await writeFile(`${cut}-wal`, log.subarray(0, Math.floor((log.length * part) / 20)));
    const names = await namesIn(cut);
    expect([[], ['a'], ['a', 'b', 'c']]).toContainEqual(names);
  }
  await store.close();
});

it('[SQLITE-1] a commit is flushed unless it can be repeated, also after one that can', async () => {
  const database = new sqlite.Database(await newFile());
  const store = await openSqliteStore(wasmSqlite(database));
  const flushes = () => database.all('PRAGMA synchronous')[0]?.synchronous;
  const [FULL, NORMAL] = [2, 1];
  const found = [flushes()];
  for (const isRepeatable of [true, false, true, true, false]) {
    await store.commit([object('a', 'one')], { isRepeatable });
    found.push(flushes());
  }
  expect(found).toEqual([FULL, NORMAL, FULL, NORMAL, NORMAL, FULL]);
  await store.close();
});

it('[SQLITE-2] a commit that scrubs leaves nothing of what it and others before it deleted in the files', async () => {
  const file = await newFile();
  const store = await openAt(file);
  await store.commit([object('a', 'a secret of this device'), object('b', 'kept')]);
  await store.commit([{ table: 'objects', key: ['Order', 'a'] }]);
  await store.commit([object('b', 'changed')], { scrubs: true });
  for (const name of [file, `${file}-wal`]) {
    const bytes = await readFile(name);
    expect([name, bytes.includes('a secret of this device'), bytes.includes('kept')]).toEqual([name, false, false]);
  }
  await store.close();
});

it('[SQLITE-3] a commit that cannot be made changes nothing, and says why', async () => {
  const file = await newFile();
  const database = new sqlite.Database(file);
  const driver = wasmSqlite(database);
  let failure: Error | null = null;
  const store = await openSqliteStore({
    ...driver,
    run: (statement, values) => {
      driver.run(statement, values);
      if (failure !== null) throw failure;
    },
  });
  await store.commit([object('a', 'one')]);
  for (const [message, code] of [
    ['database or disk is full', 'storage_full'],
    ['something else', 'store_failed'],
  ] as const) {
    failure = new Error(message);
    await expect(store.commit([object('b', 'two')])).rejects.toMatchObject({ code });
  }
  failure = null;
  await store.commit([object('c', 'three')]);
  expect((await store.load()).map(({ key }) => key[1])).toEqual(['a', 'c']);
  await store.close();
});

it('[SQLITE-3] a commit whose log cannot be emptied is there all the same, and the next one empties it', async () => {
  const file = await newFile();
  const driver = wasmSqlite(new sqlite.Database(file));
  let isFull = true;
  const store = await openSqliteStore({
    ...driver,
    all: (query, values) => {
      if (isFull && query.includes('wal_checkpoint')) throw new Error('database or disk is full');
      return driver.all(query, values);
    },
  });
  await store.commit([object('a', 'a secret of this device'), object('b', 'kept')]);
  await store.commit([{ table: 'objects', key: ['Order', 'a'] }], { scrubs: true });
  expect((await store.load()).map(({ key }) => key[1])).toEqual(['b']);
  isFull = false;
  await store.commit([object('c', 'three')]);
  for (const name of [file, `${file}-wal`]) expect((await readFile(name)).includes('a secret of')).toBe(false);
  await store.close();
});

it('[SQLITE-4] a database that is in use, damaged, of something else or of a newer version is refused, and stays as it is', async () => {
  const file = await newFile();
  const store = await openAt(file);
  await store.commit([object('a', 'one')]);
  await expect(openAt(file)).rejects.toMatchObject({ code: 'store_in_use' });
  await store.close();

  const damaged = await newFile();
  await writeFile(damaged, 'this is no database, whatever its name says '.repeat(100));
  await expect(openAt(damaged)).rejects.toMatchObject({ code: 'store_damaged' });

  const other = await newFile();
  const app = new sqlite.Database(other);
  app.exec('CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES (1)');
  app.close();
  await expect(openAt(other)).rejects.toMatchObject({ message: expect.stringContaining('a file of its own') });
  const again = new sqlite.Database(other);
  expect(again.all('SELECT name FROM sqlite_schema')).toEqual([{ name: 'notes' }]);
  again.close();

  const newer = new sqlite.Database(file);
  newer.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA user_version = 4');
  newer.close();
  await expect(openAt(file)).rejects.toMatchObject({ message: expect.stringContaining('update the app') });
});

it('[SQLITE-4] a second store on the connection of another one is refused, and the first one goes on', async () => {
  const driver = wasmSqlite(new sqlite.Database(await newFile()));
  const store = await openSqliteStore(driver);
  // expo-sqlite gives the same connection to whoever opens the same name.
  await expect(openSqliteStore(driver)).rejects.toMatchObject({ code: 'store_in_use' });
  await store.commit([object('a', 'one')]);
  expect((await store.load()).map(({ key }) => key[1])).toEqual(['a']);
  await store.close();
});

it('[SQLITE-4] a database with another key, or none, says that the key may be the reason', async () => {
  const file = await newFile();
  await writeFile(file, 'what an encrypted database looks like without its key '.repeat(100));
  await expect(openAt(file)).rejects.toMatchObject({
    code: 'store_damaged',
    message: expect.stringContaining('encrypted with another key'),
  });
});

it('[SQLITE-3] a store that is closed finishes what it began, call by call, and takes nothing more', async () => {
  const driver = wasmSqlite(new sqlite.Database(await newFile()));
  const calls: string[] = [];
  let running = 0;
  const slowly = async <T>(name: string, call: () => Promise<T> | T): Promise<T> => {
    running++;
    calls.push(running > 1 ? `${name} during another call` : name);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return call();
  };
  const store = await openSqliteStore({
    execute: (statements) => slowly('execute', () => driver.execute(statements)),
    run: (statement, values) => slowly('run', () => driver.run(statement, values)),
    all: (query, values) => slowly('all', () => driver.all(query, values)),
    close: () => slowly('close', () => driver.close()),
  });
  calls.length = 0;
  const first = store.commit([object('a', 'one')]);
  const read = store.disk?.read([['Order', 'a']]);
  const closed = store.close();
  await expect(store.commit([object('b', 'two')])).rejects.toMatchObject({ code: 'closed' });
  await Promise.all([first, closed]);
  expect([await read, calls]).toEqual([['one'], ['execute', 'run', 'execute', 'all', 'close']]);
});

it('[SQLITE-5] a device keeps its objects and its uploads in it over a restart', async () => {
  const file = await newFile();
  const server = await openTestServer({ sources: [{ name: 'Order' }], users: ['ada'] });
  onTestFinished(() => server.close());
  await server.push('Order', { o1: { total: 1 } }, { user: 'ada' });
  const before = await server.openDevice({ user: 'ada', store: await openAt(file) });
  await before.sync();
  server.network.goOffline();
  await before.source('Order').update('o1', { total: 2 });
  await before.close();
  const device = await server.openDevice({ store: await openAt(file) });
  expect([device.source('Order').get('o1')?.attributes, device.uploads.list().length]).toEqual([{ total: 2 }, 1]);
  server.network.goOnline();
  await device.sync();
  expect(await server.objects('Order', { user: 'ada' })).toEqual({ o1: { total: 2 } });
});

it('[SQLITE-6] the sample of the guide and of the readme runs', async () => {
  const file = await newFile();
  const openDatabaseAsync = async (_name: string) => asExpo(new sqlite.Database(file));
  const store = await openSqliteStore(expoSqlite(await openDatabaseAsync('tidemark.db')));
  const device = await openDevice({ url: 'https://sync.example.org', store });
  await device.close();
  const here = await readFile(new URL(import.meta.url), 'utf8');
  for (const page of ['../../../docs/sdk/sqlite.md', '../README.md']) {
    const text = await readFile(new URL(page, import.meta.url), 'utf8');
    const [, sample = ''] = /```ts\n([\s\S]*?)```/.exec(text) ?? [];
    const lines = sample.split('\n').filter((line) => line.startsWith('const '));
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(here).toContain(line);
  }
});
