import { mkdtemp, readFile, readdir as readNames, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { LocalStore, LocalWrite } from '@tidemark/client';
import { diskPartContract, localStoreContract } from '@tidemark/testing';
import sqlite from 'node-sqlite3-wasm';
import { expect, it, onTestFinished } from 'vitest';
import { nodeSqlite } from './drivers/node-sqlite.ts';
import { wasmSqlite } from './drivers/wasm-sqlite.ts';
import type { HealingStoreOptions } from './healing-store.ts';
import { openHealingSqliteStore } from './open-healing-store.ts';
import type { SqliteDamage } from './replace-database.ts';
import type { SqliteDriver, SqliteValue } from './sqlite-driver.ts';
import { openSqliteStore } from './sqlite-store.ts';

interface OpenOptions extends HealingStoreOptions {
  /** Changes the drivers that are opened. */
  readonly changed?: (driver: SqliteDriver, name: string) => SqliteDriver;
}

function openIn(folder: string, { changed = (driver) => driver, ...options }: OpenOptions = {}): Promise<LocalStore> {
  const driverOf = (name: string) => wasmSqlite(new sqlite.Database(join(folder, name)));
  const databases = {
    name: 'device.db',
    list: () => readNames(folder),
    open: (name: string) => changed(driverOf(name), name),
  };
  return openHealingSqliteStore(databases, options);
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const engine = {
  isDurable: true,
  newPlace: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
    return { open: () => openIn(folder), remove: () => rm(folder, { recursive: true }) };
  },
};
localStoreContract('the SQLite store that heals', engine);
diskPartContract('the SQLite store that heals', engine);

const fact = (name: string, value: LocalWrite['value']): LocalWrite => ({
  table: 'facts',
  key: ['', name],
  ...(value === undefined ? {} : { value }),
});
const upload = (opId: string): LocalWrite => ({ table: 'uploads', key: ['', opId], value: { order: 1 } });
const TEXT = 'of an object and nothing else';
const object = (id: string): LocalWrite => ({ table: 'objects', key: ['Order', id], value: { text: TEXT } });
const OWNER = fact('owner', { userId: 'ada', clientId: 'phone' });

async function namesIn(store: LocalStore): Promise<readonly string[]> {
  return (await store.load()).map(({ table, key }) => `${table} ${key[1]}`).toSorted();
}

/** Leaves a store with an owner, a change and an object. */
async function leaveStore(folder: string, ...more: readonly LocalWrite[]): Promise<void> {
  const store = await openIn(folder);
  await store.commit([OWNER, upload('op'), object('o1'), fact('last_results', [['Order', 'o1', { n: 1 }]]), ...more]);
  await store.close();
}

/** Overwrites all pages with this text. */
async function overwritePagesWith(file: string, text: string): Promise<void> {
  const bytes = await readFile(file);
  const PAGE = 4_096;
  for (let at = 0; at < bytes.length; at += PAGE) {
    if (bytes.subarray(at, at + PAGE).includes(text)) bytes.fill(0xff, at + (at === 0 ? 100 : 0), at + PAGE);
  }
  await writeFile(file, bytes);
}

it('[SQLITE-8] a database whose objects are damaged keeps its name, and another one takes over session and changes', async () => {
  const folder = await newFolder();
  await leaveStore(folder);
  await overwritePagesWith(join(folder, 'device.db'), TEXT);
  const damages: SqliteDamage[] = [];
  const store = await openIn(folder, { onDamaged: (damage) => void damages.push(damage) });
  expect(await namesIn(store)).toEqual(['facts owner', 'uploads op']);
  await store.commit([object('o2')]);
  await store.close();
  const again = await openIn(folder, { onDamaged: (damage) => void damages.push(damage) });
  expect(await namesIn(again)).toEqual(['facts owner', 'objects o2', 'uploads op']);
  await again.close();
  expect(damages).toEqual([
    {
      ...{ name: 'device.db', newName: 'device-2.db', savedUploads: 1, leftUploads: 0, isWhole: true },
      error: expect.objectContaining({ code: 'store_damaged' }),
    },
  ]);
  expect(await readNames(folder)).toEqual(expect.arrayContaining(['device.db', 'device-2.db']));
});

it('[SQLITE-8] a second damaged database gets the next number, and what the first one had does not come back', async () => {
  const folder = await newFolder();
  await leaveStore(folder);
  await overwritePagesWith(join(folder, 'device.db'), TEXT);
  const first = await openIn(folder);
  await first.load();
  await first.commit([{ table: 'uploads', key: ['', 'op'] }, upload('later'), object('o1')]);
  await first.close();
  await overwritePagesWith(join(folder, 'device-2.db'), TEXT);
  const second = await openIn(folder);
  expect(await namesIn(second)).toEqual(['facts owner', 'uploads later']);
  await second.close();
  expect((await readNames(folder)).filter((name) => name.endsWith('.db'))).toHaveLength(3);
});

it('[SQLITE-8] an app that throws when it is told of damage keeps everything as it is', async () => {
  const folder = await newFolder();
  await leaveStore(folder);
  await overwritePagesWith(join(folder, 'device.db'), TEXT);
  const refuse = () => {
    throw new Error('not without asking');
  };
  for (let opening = 0; opening < 2; opening++) {
    const store = await openIn(folder, { onDamaged: refuse });
    await expect(store.load()).rejects.toThrow('not without asking');
    await store.close();
  }
  expect((await readNames(folder)).filter((name) => name.endsWith('.db'))).toEqual(['device.db']);
  const store = await openIn(folder);
  expect(await namesIn(store)).toEqual(['facts owner', 'uploads op']);
  await store.close();
});

it('[SQLITE-8] a process that dies while a database takes the place of another one does it again at the next start', async () => {
  const folder = await newFolder();
  await leaveStore(folder);
  await overwritePagesWith(join(folder, 'device.db'), TEXT);
  let calls = 0;
  for (let last = 1; last < 20; last++) {
    calls = 0;
    const dying = (driver: SqliteDriver, name: string): SqliteDriver => ({
      ...driver,
      execute: (statements) => {
        if (name !== 'device.db' && ++calls >= last) throw new Error('the process has died');
        return driver.execute(statements);
      },
    });
    const store = await openIn(folder, { changed: dying }).catch(() => null);
    const isLoaded = await store?.load().then(
      () => true,
      () => false,
    );
    await store?.close();
    if (isLoaded === true) break;
  }
  expect(calls).toBeGreaterThan(0);
  const store = await openIn(folder);
  expect(await namesIn(store)).toEqual(['facts owner', 'uploads op']);
  await store.close();
});

it('[SQLITE-8] changes whose user cannot be read are left in the damaged database, and the app is told how many', async () => {
  const folder = await newFolder();
  const links = Array.from({ length: 200 }, (_, n) => {
    return { table: 'links', key: ['Order', `temporary-${n}`], value: `${n} `.repeat(20) } as const;
  });
  await leaveStore(folder, ...links);
  await overwritePagesWith(join(folder, 'device.db'), '"userId":"ada"');
  const damages: SqliteDamage[] = [];
  const store = await openIn(folder, { onDamaged: (damage) => void damages.push(damage) });
  expect(await store.load()).toEqual([]);
  expect(damages).toMatchObject([{ savedUploads: 0, leftUploads: 1, isWhole: false }]);
  await store.close();
});

it('[SQLITE-8] a session whose owner cannot be read says whose changes they are', async () => {
  const folder = await newFolder();
  const session = { token: 't', userId: 'ada', clientId: 'phone', generation: 2 };
  await leaveStore(folder, fact('session', session), fact('owner', undefined));
  await overwritePagesWith(join(folder, 'device.db'), TEXT);
  const store = await openIn(folder);
  const rows = await store.load();
  expect(rows.find(({ key }) => key[1] === 'owner')?.value).toEqual({
    userId: 'ada',
    clientId: 'phone',
    generation: 2,
  });
  await store.close();
});

it('[SQLITE-8] a value that was changed on the disk is not taken for what was written, although it can be read', async () => {
  const folder = await newFolder();
  await leaveStore(folder, { table: 'uploads', key: ['', 'altered'], value: { order: 2, total: 'one' } });
  const file = join(folder, 'device.db');
  const bytes = await readFile(file);
  bytes.write('two', bytes.indexOf('"total":"one"') + '"total":"'.length);
  await writeFile(file, bytes);
  const plain = await openSqliteStore(wasmSqlite(new sqlite.Database(file)));
  await expect(plain.load()).rejects.toMatchObject({ code: 'store_damaged' });
  await plain.close();
  const store = await openIn(folder);
  expect(await namesIn(store)).toEqual(['facts owner', 'uploads op']);
  await store.close();
});

it('[SQLITE-8] a database of something else, of a newer version, or in use is refused and not replaced', async () => {
  const folder = await newFolder();
  const file = join(folder, 'device.db');
  const app = new sqlite.Database(file);
  app.exec('CREATE TABLE notes (text TEXT)');
  await expect(openIn(folder)).rejects.toMatchObject({ code: 'store_failed' });
  app.exec('DROP TABLE notes; PRAGMA user_version = 4; PRAGMA application_id = 0x54696465');
  await expect(openIn(folder)).rejects.toMatchObject({ message: expect.stringContaining('update the app') });
  app.exec('PRAGMA user_version = 0; PRAGMA application_id = 0');
  app.close();
  const store = await openIn(folder);
  await expect(openIn(folder)).rejects.toMatchObject({ code: 'store_in_use' });
  await store.close();
  expect((await readNames(folder)).filter((name) => name.endsWith('.db'))).toEqual(['device.db']);
});

it('[SQLITE-6] the sample of the guide about damaged databases runs', async () => {
  const folder = await newFolder();
  const readdir = (_data: string) => readNames(folder);
  class DatabaseSync {
    readonly #database: InstanceType<typeof sqlite.Database>;
    constructor(path: string) {
      this.#database = new sqlite.Database(join(folder, basename(path)));
    }
    exec = (statements: string) => this.#database.exec(statements);
    prepare = (text: string) => ({
      run: (...values: SqliteValue[]) => this.#database.run(text, values),
      all: (...values: SqliteValue[]) => this.#database.all(text, values),
    });
    close = () => this.#database.close();
  }
  const databases = {
    name: 'tidemark.db',
    list: () => readdir('data'),
    open: (name: string) => nodeSqlite(new DatabaseSync(`data/${name}`)),
  };
  const healing = await openHealingSqliteStore(databases);
  await healing.commit([OWNER]);
  expect(await namesIn(healing)).toEqual(['facts owner']);
  await healing.close();
  const here = await readFile(new URL(import.meta.url), 'utf8');
  const guide = await readFile(new URL('../../../docs/sdk/sqlite.md', import.meta.url), 'utf8');
  const [sample] = /const databases = \{[\s\S]*?\n\};/.exec(guide) ?? [''];
  const lines = sample.split('\n').map((line) => line.trim());
  expect(lines).toHaveLength(5);
  for (const line of lines) expect(here).toContain(line);
});
