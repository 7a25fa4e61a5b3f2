import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Device, type LocalStore, openDevice } from '@tidemark/client';
import { openSqliteStore, wasmSqlite } from '@tidemark/sqlite';
import sqlite from 'node-sqlite3-wasm';
import type { BenchDevice } from './device-fixture.ts';
import { median } from './measure.ts';

/** What a process with a device on SQLite does once. */
export type DiskOrder =
  /** The first sync of a source on the disk. */
  | {
      readonly kind: 'sync';
      readonly file: string;
      readonly url: string;
      readonly source: string;
      readonly device: BenchDevice;
    }
  /** The same rows, written into a table like that of the store by nothing but SQLite. */
  | {
      readonly kind: 'raw';
      readonly file: string;
      readonly url: string;
      readonly source: string;
      readonly device: BenchDevice;
    }
  /** A start without a network up to the first 50 rows. `nothing`: a source that has no objects. */
  | {
      readonly kind: 'start';
      readonly file: string;
      readonly source: string;
      readonly kept: 'disk' | 'memory' | 'nothing';
    };

export interface DiskCost {
  readonly objects: number;
  readonly ms: number;
  /** After garbage was collected. */
  readonly heapBytes: number;
  /** From a change made here until the live query has shown it to its subscriber. */
  readonly editMs: number;
}

/** Does it in a process of its own, which has done nothing before. */
export async function measureOnDisk(order: DiskOrder): Promise<DiskCost> {
  const child = fork(fileURLToPath(import.meta.url));
  child.send(order);
  const [cost] = (await once(child, 'message')) as [DiskCost | { readonly error: string }];
  child.kill();
  if ('error' in cost) throw new Error(cost.error);
  return cost;
}

const INDEX = 'name';
const ROWS = 50;
const EDITS = 21;
/** Nobody listens there; the device is kept offline. */
const NOWHERE = 'http://127.0.0.1:9';

async function perform(order: DiskOrder): Promise<DiskCost> {
  if (order.kind === 'sync') return sync(order);
  if (order.kind === 'raw') return insertRaw(order);
  return start(order);
}

const openStore = (file: string) => openSqliteStore(wasmSqlite(new sqlite.Database(file)));

async function sync({
  file,
  url,
  source,
  device: { user: userId, client: clientId, token },
}: DiskOrder & { kind: 'sync' }): Promise<DiskCost> {
  const store = await openStore(file);
  const session = { token, userId, clientId, givenAtMs: Date.now(), expiresAtMs: Date.now() + 86_400_000 };
  await store.commit([
    { table: 'facts', key: ['', 'session'], value: session },
    { table: 'facts', key: ['', 'owner'], value: { userId, clientId } },
  ]);
  const device = await openDevice({ url, store, sources: [source], live: false });
  device.source(source, { keep: 'disk', indexes: [INDEX] });
  const begin = performance.now();
  await device.sync();
  const ms = performance.now() - begin;
  const { size } = (await store.disk?.measure(source)) ?? { size: 0 };
  const heapBytes = heapAfterCollection();
  await device.close();
  return { objects: size, ms, heapBytes, editMs: 0 };
}

const TABLE = `
CREATE TABLE objects (first TEXT NOT NULL, id TEXT NOT NULL, checksum INTEGER NOT NULL, keys TEXT, value TEXT NOT NULL, UNIQUE (first, id));
CREATE INDEX by_name ON objects (keys ->> 0, id) WHERE first = 'Product'`;
const INSERT = `
INSERT INTO objects (first, id, checksum, keys, value)
SELECT w.value ->> 0, w.value ->> 1, w.value ->> 2, w.value ->> 3, w.value ->> 4 FROM json_each(?) AS w`;
const ROWS_PER_TRANSACTION = 1_000;

async function insertRaw({ file, url, source, device }: DiskOrder & { kind: 'raw' }): Promise<DiskCost> {
  const headers = { authorization: `Bearer ${device.token}` };
  const response = await fetch(`${url}/sync/v1/sources/${source}/snapshot`, { headers });
  const rows: unknown[][] = [];
  for (const line of (await response.text()).split('\n')) {
    if (line === '') continue;
    const { put = {} } = JSON.parse(line) as { readonly put?: Readonly<Record<string, { readonly name: string }>> };
    for (const [id, value] of Object.entries(put)) {
      rows.push(['Product', id, 1, JSON.stringify([`4${value.name}`]), JSON.stringify(value)]);
    }
  }
  const database = new sqlite.Database(file);
  database.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${TABLE}`);
  const begin = performance.now();
  for (let from = 0; from < rows.length; from += ROWS_PER_TRANSACTION) {
    database.exec('BEGIN IMMEDIATE');
    database.run(INSERT, [JSON.stringify(rows.slice(from, from + ROWS_PER_TRANSACTION))]);
    database.exec('COMMIT');
  }
  const ms = performance.now() - begin;
  database.close();
  return { objects: rows.length, ms, heapBytes: 0, editMs: 0 };
}

async function start({ file, source, kept }: DiskOrder & { kind: 'start' }): Promise<DiskCost> {
  const begin = performance.now();
  const store = await openStore(file);
  const device = await openDevice({ url: NOWHERE, store: kept === 'memory' ? allInMemory(store) : store, live: false });
  device.goOffline();
  const own = device.source(kept === 'nothing' ? 'Nothing' : source, {
    indexes: [INDEX],
    ...(kept === 'nothing' ? { keep: 'disk' } : {}),
  });
  const query = own.query({ orderBy: INDEX, limit: ROWS });
  const rows = await query.fetch();
  const ms = performance.now() - begin;
  const heapBytes = heapAfterCollection();
  const editMs = kept === 'disk' ? await measureEdit(device, source) : 0;
  await device.close();
  return { objects: rows.length, ms, heapBytes, editMs };
}

/** A store that cannot keep sources on the disk. */
function allInMemory(store: LocalStore): LocalStore {
  return {
    load: (onFirst) => store.load(onFirst),
    commit: (writes, options) => store.commit(writes, options),
    close: () => store.close(),
  };
}

async function measureEdit(device: Device, source: string): Promise<number> {
  const query = device.source(source).query({ orderBy: INDEX, limit: ROWS });
  let shownAt = 0;
  query.subscribe(() => {
    query.getSnapshot();
    shownAt = performance.now();
  });
  const times: number[] = [];
  for (let edit = 0; edit < EDITS; edit++) {
    const object = (await query.fetch())[edit];
    if (object === undefined) throw new Error('the query has too few rows');
    const begin = performance.now();
    await device.source(source).update(object.id, { note: `${process.pid} ${edit}` });
    times.push(shownAt - begin);
  }
  return median(times);
}

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', (order: DiskOrder) => {
    perform(order).then(
      (cost) => process.send?.(cost),
      (error: unknown) =>
        process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
}
