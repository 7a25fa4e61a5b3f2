import { copyFile, mkdtemp, open, readdir, readFile, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Device } from '@tidemark/client';
import { openTestServer, Rng, seededRandom, type TestServer } from '@tidemark/client-testing';
import sqlite from 'node-sqlite3-wasm';
import { describe, expect, it, onTestFinished } from 'vitest';
import { wasmSqlite } from './drivers/wasm-sqlite.ts';
import { openHealingSqliteStore } from './open-healing-store.ts';
import type { SqliteDamage } from './replace-database.ts';
import type { SqliteDriver } from './sqlite-driver.ts';

const SEEDS = Number(process.env.TIDEMARK_LONG_TESTS === '1' ? 100 : 2);
const OBJECTS = 300;
const CHANGES = 60;

/** The databases of one device in a folder. */
class Folder {
  readonly damages: SqliteDamage[] = [];
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  file(name = 'device.db'): string {
    return join(this.path, name);
  }

  openStore(changed: (driver: SqliteDriver, name: string) => SqliteDriver = (driver) => driver) {
    return openHealingSqliteStore(
      {
        name: 'device.db',
        list: () => readdir(this.path),
        open: (name) => changed(wasmSqlite(new sqlite.Database(this.file(name))), name),
      },
      { onDamaged: (damage) => void this.damages.push(damage) },
    );
  }
}

async function newFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return new Folder(path);
}

type Orders = Readonly<Record<string, { readonly n: number; readonly text: string }>>;

const TEXT = 'what an order says '.repeat(10);
const orders = (prefix: string, count: number): Orders =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}${n}`, { n, text: `${TEXT}${n}` }]));

async function newServer(): Promise<TestServer> {
  const server = await openTestServer({ sources: [{ name: 'Order' }], users: ['ada'] });
  onTestFinished(() => server.close());
  await server.push('Order', orders('o', OBJECTS), { user: 'ada' });
  return server;
}

type Row = Readonly<Record<string, unknown>>;
type Database = InstanceType<typeof sqlite.Database>;

const CHANGES_SQL = "SELECT * FROM rows WHERE name = 'uploads'";

/** Does work with the database as another program. */
function withDatabase<T>(file: string, work: (database: Database) => T): T {
  const database = new sqlite.Database(file);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA writable_schema = ON');
    return work(database);
  } finally {
    close(database);
  }
}

const changesIn = (file: string): readonly Row[] =>
  withDatabase(file, (database) => database.all(CHANGES_SQL)) as Row[];

/** Which of the changes another program that knows their names still reads as they were. */
function readableChanges(file: string, changes: readonly Row[]): readonly string[] {
  try {
    return withDatabase(file, (database) => changes.flatMap((row) => (isReadable(database, row) ? [idOf(row)] : [])));
  } catch {
    return [];
  }
}

const idOf = ({ value }: Row) => (JSON.parse(String(value)) as { readonly id: string }).id;

function isReadable(database: Database, row: Row): boolean {
  try {
    const found = database.all(`${CHANGES_SQL} AND part = '' AND key = ?`, [String(row.key)]);
    return JSON.stringify(found) === JSON.stringify([row]);
  } catch {
    return false;
  }
}

function close(database: Database): void {
  try {
    database.close();
  } catch {
    // The log of a damaged database cannot always be emptied.
  }
}

async function overwrite(file: string, at: number, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'r+');
  await handle.write(bytes, 0, bytes.length, at);
  await handle.close();
}

const randomBytes = (rng: Rng, count: number) => Uint8Array.from({ length: count }, () => rng.below(256));

async function overwriteSome(rng: Rng, file: string, from: number): Promise<void> {
  const { size } = await stat(file);
  for (let run = rng.between(1, 4); run > 0; run--) {
    await overwrite(file, rng.between(from, size - 2_001), randomBytes(rng, rng.between(1, 2_000)));
  }
}

const DAMAGES: Readonly<Record<string, (rng: Rng, folder: Folder) => Promise<void>>> = {
  'bytes in the middle of its pages were overwritten': (rng, folder) => overwriteSome(rng, folder.file(), 100),
  'its header was overwritten': (rng, folder) => overwrite(folder.file(), 0, randomBytes(rng, 100)),
  'it was cut': async (rng, folder) => {
    const { size } = await stat(folder.file());
    await truncate(folder.file(), rng.between(1, size - 1));
  },
};

/** Opens the device until it has synced: some damage is noticed only while the device is in use. */
async function openUntilSynced(server: TestServer, folder: Folder): Promise<Device> {
  for (let opening = 1; ; opening++) {
    const device = await server.openDevice({ user: 'ada', store: await folder.openStore() });
    try {
      await device.sync();
      return device;
    } catch (error) {
      expect([opening < 3, device.status.getSnapshot().error?.code]).toEqual([true, 'store_damaged']);
      await device.close();
      void error;
    }
  }
}

async function leaveChanges(server: TestServer, folder: Folder): Promise<readonly Row[]> {
  const device = await server.openDevice({ user: 'ada', store: await folder.openStore() });
  await device.sync();
  server.network.goOffline();
  for (const [id, order] of Object.entries(orders('new', CHANGES))) await device.source('Order').create(order, { id });
  await device.close();
  server.network.goOnline();
  return changesIn(folder.file());
}

describe('[SQLITE-8] a device goes on after its database was damaged, and what could be read of its changes arrives once', () => {
  for (const [damage, inflict] of Object.entries(DAMAGES)) {
    it(`[SQLITE-8] a device goes on when ${damage}`, async () => {
      for (let seed = 1; seed <= SEEDS; seed++) await followDamage(seed, inflict);
    });
  }
});

async function followDamage(seed: number, inflict: (rng: Rng, folder: Folder) => Promise<void>): Promise<void> {
  const [rng, server, folder] = [new Rng(seededRandom(seed)), await newServer(), await newFolder()];
  const changes = await leaveChanges(server, folder);
  await inflict(rng, folder);
  const readable = readableChanges(folder.file(), changes);
  const device = await openUntilSynced(server, folder);
  const found = await server.objects('Order', { user: 'ada' });
  const arrived = Object.keys(found).filter((id) => id.startsWith('new'));
  const isLeft = folder.damages.some(({ leftUploads }) => leftUploads > 0);
  const made = orders('new', CHANGES);
  expect([seed, found]).toEqual([
    seed,
    { ...orders('o', OBJECTS), ...Object.fromEntries(arrived.map((id) => [id, made[id]])) },
  ]);
  expect([seed, isLeft ? [] : readable.toSorted()]).toEqual([seed, arrived.toSorted()]);
  expect([seed, device.problems.list(), device.uploads.list()]).toEqual([seed, [], []]);
  const shown = device
    .source('Order')
    .list()
    .map(({ id, attributes }) => [id, attributes]);
  expect([seed, Object.fromEntries(shown)]).toEqual([seed, found]);
  for (const { name } of folder.damages)
    expect([seed, await readdir(folder.path)]).toEqual([seed, expect.arrayContaining([name])]);
  await device.close();
}

it('[SQLITE-8] a device goes on when the log beside its database was damaged before a kill', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const [rng, server, folder, left] = [
      new Rng(seededRandom(seed)),
      await newServer(),
      await newFolder(),
      await newFolder(),
    ];
    const store = await folder.openStore();
    const device = await server.openDevice({ user: 'ada', store });
    await device.sync();
    server.network.goOffline();
    const made = orders('new', CHANGES);
    for (const [id, order] of Object.entries(made)) await device.source('Order').create(order, { id });
    // What a process that dies now leaves on the disk.
    for (const name of ['device.db', 'device.db-wal']) await copyFile(folder.file(name), left.file(name));
    await overwriteSome(rng, left.file('device.db-wal'), 0);
    server.network.goOnline();
    const other = await openUntilSynced(server, left);
    const found = await server.objects('Order', { user: 'ada' });
    const arrived = Object.keys(found).filter((id) => id.startsWith('new'));
    const expected = { ...orders('o', OBJECTS), ...Object.fromEntries(arrived.map((id) => [id, made[id]])) };
    expect([seed, found]).toEqual([seed, expected]);
    expect([seed, other.problems.list(), other.uploads.list()]).toEqual([seed, [], []]);
    server.network.goOffline();
    await device.close();
    await other.close();
  }
});

it('[SQLITE-9] damage that is noticed while a device is open is told by its status, refuses changes, and is healed by the next start', async () => {
  const [server, folder] = [await newServer(), await newFolder()];
  let isDamaged = false;
  const openStore = () =>
    folder.openStore((driver, name) => ({
      ...driver,
      run: (statement, values) => {
        if (isDamaged && name === 'device.db') throw new Error('database disk image is malformed');
        return driver.run(statement, values);
      },
    }));
  const device = await server.openDevice({ user: 'ada', store: await openStore() });
  await device.sync();
  server.network.goOffline();
  await device.source('Order').create({ n: 1 }, { id: 'stored' });
  isDamaged = true;
  const refused = device.source('Order').create({ n: 2 }, { id: 'refused' });
  await expect(refused).rejects.toMatchObject({ code: 'store_damaged' });
  isDamaged = false;
  const again = device.source('Order').create({ n: 3 }, { id: 'refused too' });
  await expect(again).rejects.toMatchObject({ code: 'store_damaged' });
  expect(device.status.getSnapshot().error?.code).toBe('store_damaged');
  expect(device.source('Order').get('refused')).toBeUndefined();
  await device.close();
  server.network.goOnline();
  const next = await server.openDevice({ store: await openStore() });
  await next.sync();
  expect([next.status.getSnapshot().error, folder.damages.map(({ savedUploads }) => savedUploads)]).toEqual([
    null,
    [1],
  ]);
  const found = await server.objects('Order', { user: 'ada' });
  expect([found.stored, Object.keys(found).length]).toEqual([{ n: 1 }, OBJECTS + 1]);
  await next.close();
});

it('[SQLITE-9] damage that a query of a source on the disk meets is told by the status, and healed by the next start', async () => {
  const [server, folder] = [await newServer(), await newFolder()];
  const before = await server.openDevice({ user: 'ada', store: await folder.openStore() });
  before.source('Order', { keep: 'disk' });
  await before.sync();
  await before.close();
  const bytes = await readFile(folder.file());
  const [at, end] = [bytes.indexOf(`${TEXT}100`), bytes.indexOf(`${TEXT}102`)];
  await overwrite(folder.file(), Math.min(at, end), new Uint8Array(Math.abs(end - at)).fill(0xff));
  server.network.goOffline();
  const device = await server.openDevice({ store: await folder.openStore() });
  const query = device.source('Order', { keep: 'disk' }).query({ where: { n: 101 } });
  await query.fetch().catch(() => undefined);
  await expect.poll(() => device.status.getSnapshot().error?.code).toBe('store_damaged');
  await device.close();
  server.network.goOnline();
  const next = await server.openDevice({ store: await folder.openStore() });
  const orderSource = next.source('Order', { keep: 'disk' });
  await next.sync();
  expect((await orderSource.query({ where: { n: 101 } }).fetch()).map(({ id }) => id)).toEqual(['o101']);
  expect(folder.damages).toHaveLength(1);
  await next.close();
});

it('[SQLITE-8] a device that starts with its last results and meets damage behind them says so, and goes on at the next start', async () => {
  const [server, folder] = [await newServer(), await newFolder()];
  const start = 'last_results';
  const before = await server.openDevice({ user: 'ada', start, store: await folder.openStore() });
  await before.sync();
  await before
    .source('Order')
    .query({ where: { n: 1 } })
    .fetch();
  const stop = before
    .source('Order')
    .query({ where: { n: 1 } })
    .subscribe(() => undefined);
  await before.close();
  stop();
  const bytes = await readFile(folder.file());
  const at = bytes.indexOf(`${TEXT}200`);
  await overwrite(folder.file(), at, new Uint8Array(50).fill(1));
  let device = await server.openDevice({ start, store: await folder.openStore() });
  const result = await device.sync().then(
    () => 'synced',
    ({ code }) => code,
  );
  if (result !== 'synced') {
    expect(result).toBe('store_damaged');
    await device.close();
    device = await server.openDevice({ start, store: await folder.openStore() });
    await device.sync();
  }
  expect(device.source('Order').list()).toHaveLength(OBJECTS);
  expect(folder.damages).toHaveLength(1);
  await device.close();
});

it('[SQLITE-9] a device opens although an object that was changed here is damaged on the disk, tells it by its status, and sends the change after the next start', async () => {
  const [server, folder] = [await newServer(), await newFolder()];
  const before = await server.openDevice({ user: 'ada', store: await folder.openStore() });
  before.source('Order', { keep: 'disk' });
  await before.sync();
  server.network.goOffline();
  await before.source('Order').update('o7', { n: -7 });
  await before.close();
  const database = new sqlite.Database(folder.file());
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  database.exec(`UPDATE objects SET value = '{"n":8}' WHERE id = 'o7'`);
  database.close();
  const device = await server.openDevice({ store: await folder.openStore() });
  await expect.poll(() => device.status.getSnapshot().error?.code).toBe('store_damaged');
  await device.close();
  server.network.goOnline();
  const next = await server.openDevice({ store: await folder.openStore() });
  await next.sync();
  expect((await server.objects('Order', { user: 'ada' })).o7).toMatchObject({ n: -7, text: expect.any(String) });
  expect(folder.damages.map(({ savedUploads }) => savedUploads)).toEqual([1]);
  await next.close();
});
