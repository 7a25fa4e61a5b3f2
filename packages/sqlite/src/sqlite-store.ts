import {
  ClientError,
  type CommitOptions,
  type DiskPart,
  type FileDirectory,
  type LocalKey,
  type LocalRow,
  type LocalStore,
  type LocalWrite,
  type Measure,
  type Scan,
  type Table,
} from '@tidemark/client';
import { convertFrom1 } from './convert.ts';
import { INDEXES_SQL } from './index-list.ts';
import { localRow, OBJECTS_SQL, ObjectsTable, sumOf } from './objects-table.ts';
import type { SqliteDriver } from './sqlite-driver.ts';
import { sqliteError } from './sqlite-error.ts';
import { keyIn, storedText } from './stored-text.ts';
import { Turns } from './turns.ts';

export interface SqliteStoreOptions {
  /** Where the bytes of files are stored. Absent: the device keeps no files. */
  readonly files?: FileDirectory;
}

/** "Tide" and the version of the tables. */
const APPLICATION_ID = 0x54696465;
const VERSION = 2;

/**
 * The first statements of a connection. Nobody else may use the database, which also lets SQLite keep its index of the write-ahead log in
 * memory; deleted bytes are overwritten.
 */
const OPENING = 'PRAGMA locking_mode = EXCLUSIVE; PRAGMA secure_delete = ON';

const TABLES_SQL = `
CREATE TABLE IF NOT EXISTS rows (
  name TEXT NOT NULL, part TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (name, part, key)
) WITHOUT ROWID;
${OBJECTS_SQL};
${INDEXES_SQL}`;

/** One call for all writes, whatever a call of the driver costs. */
const PUT = `
INSERT INTO rows (name, part, key, value)
SELECT w.value ->> 0, w.value ->> 1, w.value ->> 2, w.value ->> 3 FROM json_each(?) AS w WHERE true
ON CONFLICT DO UPDATE SET value = excluded.value`;
const REMOVE = `
DELETE FROM rows WHERE (name, part, key) IN (
  SELECT w.value ->> 0, w.value ->> 1, w.value ->> 2 FROM json_each(?) AS w
)`;
const OTHERS = 'SELECT name, part, key, value FROM rows';

/**
 * Opens a store in a SQLite database that belongs to it alone. A commit is a transaction of SQLite: it is there completely or not at
 * all, and flushed to the disk when it resolves.
 */
export async function openSqliteStore(driver: SqliteDriver, { files }: SqliteStoreOptions = {}): Promise<LocalStore> {
  const store = new SqliteStore(driver);
  await store.open();
  return files === undefined ? store : Object.assign(store, { files: async () => files });
}

class SqliteStore implements LocalStore {
  readonly disk: DiskPart;
  readonly #driver: SqliteDriver;
  readonly #objects: ObjectsTable;
  readonly #turns = new Turns();
  /** Whether commits are flushed to the disk one by one. */
  #isFlushing = true;
  /** Whether deleted bytes are still in the log that must not be. */
  #mustScrub = false;
  #isClosed = false;
  /** True: another store has the connection. */
  #isShared = false;

  constructor(driver: SqliteDriver) {
    this.#driver = driver;
    this.#objects = new ObjectsTable(driver);
    this.disk = this.#diskPart();
  }

  async open(): Promise<void> {
    try {
      await this.#work(() => this.#open());
    } catch (error) {
      // Nobody could close it otherwise, and it would stay locked. A connection of another store stays as it is.
      if (!this.#isShared) await this.close().catch(() => undefined);
      throw error;
    }
  }

  async #open(): Promise<void> {
    const [mode] = await this.#driver.all('PRAGMA locking_mode', []);
    this.#isShared = mode?.locking_mode === 'exclusive';
    if (this.#isShared) throw new ClientError('store_in_use', SHARED);
    await this.#driver.execute(OPENING);
    const version = await this.#number('PRAGMA user_version', 'user_version');
    const owner = await this.#number('PRAGMA application_id', 'application_id');
    const tables = await this.#number('SELECT count(*) AS tables FROM sqlite_schema', 'tables');
    if (owner !== APPLICATION_ID && (owner !== 0 || tables > 0)) throw new ClientError('store_failed', FOREIGN);
    if (version > VERSION) throw new ClientError('store_failed', newer(version));
    await this.#driver.all('PRAGMA journal_mode = WAL', []);
    await this.#driver.execute('PRAGMA synchronous = FULL');
    const marks = `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}`;
    if (version < VERSION) {
      await this.#transaction(async () => {
        await this.#driver.execute(TABLES_SQL);
        if (version === 1) await convertFrom1(this.#driver, this.#objects);
        await this.#driver.execute(marks);
      });
    }
    await this.#objects.indexes.load();
  }

  load(onFirst?: (rows: readonly LocalRow[]) => void): Promise<readonly LocalRow[]> {
    return this.#load((others) => {
      onFirst?.(others);
      return [];
    });
  }

  commit(
    writes: readonly LocalWrite[],
    { scrubs = false, isRepeatable = false, disk }: CommitOptions = {},
  ): Promise<void> {
    return this.#work(async () => {
      await this.#flush(!isRepeatable);
      const division = divided(writes);
      const { drops = [], moves = [], unions = [] } = disk ?? {};
      await this.#transaction(async () => {
        await this.#objects.drop(drops);
        await this.#write(division);
        for (const move of moves) await this.#objects.move(move);
        for (const union of unions) await this.#objects.unite(union);
      });
      // The transaction is durable whatever becomes of this, so the next commit tries again.
      this.#mustScrub ||= scrubs;
      if (this.#mustScrub) await this.#scrub().catch(() => undefined);
    });
  }

  async #write({ kept, removed, objects, removedObjects }: DividedWrites): Promise<void> {
    if (removed.length > 0) await this.#driver.run(REMOVE, [JSON.stringify(removed)]);
    if (kept.length > 0) await this.#driver.run(PUT, [JSON.stringify(kept)]);
    await this.#objects.remove(removedObjects);
    await this.#objects.put(objects);
  }

  #diskPart(): DiskPart {
    const objects = this.#objects;
    return {
      load: (choose) => this.#load(choose),
      read: (keys) => this.#work(() => objects.read(keys)),
      scan: (scan: Scan) => this.#work(() => objects.scan(scan)),
      count: (scan, max) => this.#work(() => objects.count(scan, max)),
      measure: (first) => this.#measure(first),
      addIndex: (source, path) => this.#work(() => this.#addIndex(source, path)),
    };
  }

  #load(choose: (others: readonly LocalRow[]) => readonly string[]): Promise<readonly LocalRow[]> {
    return this.#work(async () => {
      const others = (await this.#driver.all(OTHERS, [])).map(otherRow);
      const without = choose(others);
      const rows = [...others];
      for await (const page of this.#objects.pages(without)) for (const row of page) rows.push(localRow(row));
      return rows;
    });
  }

  async #measure(first: string): Promise<Measure> {
    let sum: Measure = { size: 0, checksum: 0 };
    let part = await this.#work(() => this.#objects.measurePart(first, null));
    while (part !== null) {
      const { last } = part;
      sum = sumOf(sum, part);
      part = await this.#work(() => this.#objects.measurePart(first, last));
    }
    return sum;
  }

  async #addIndex(source: string, path: string): Promise<void> {
    if (this.#objects.indexes.find(source, path) !== undefined) return;
    try {
      await this.#transaction(() => this.#objects.addIndex(source, path));
    } catch (error) {
      this.#objects.indexes.remove(source, path);
      throw error;
    }
  }

  /** What was deleted is still in the log. */
  async #scrub(): Promise<void> {
    const busy = await this.#number('PRAGMA wal_checkpoint(TRUNCATE)', 'busy');
    this.#mustScrub = busy !== 0;
  }

  /** Waits for the work before it: libraries close a connection under a statement that still runs. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#turns.take(async () => this.#driver.close());
  }

  /** A flush also makes durable what was committed without one before it. */
  async #flush(isFlushing: boolean): Promise<void> {
    if (isFlushing === this.#isFlushing) return;
    await this.#driver.execute(`PRAGMA synchronous = ${isFlushing ? 'FULL' : 'NORMAL'}`);
    this.#isFlushing = isFlushing;
  }

  async #transaction(work: () => Promise<unknown> | unknown): Promise<void> {
    await this.#driver.execute('BEGIN IMMEDIATE');
    try {
      await work();
      await this.#driver.execute('COMMIT');
    } catch (error) {
      await this.#rollBack();
      throw error;
    }
  }

  /** SQLite may have rolled back by itself, and then refuses to do it again. */
  async #rollBack(): Promise<void> {
    try {
      await this.#driver.execute('ROLLBACK');
    } catch {
      // The first error is the one that says something.
    }
  }

  async #number(query: string, column: string): Promise<number> {
    const [row] = await this.#driver.all(query, []);
    return Number(row?.[column] ?? 0);
  }

  /** Nothing sees a part of the work of another. */
  #work<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new ClientError('closed', 'the store is closed'));
    return this.#turns.take(async () => {
      try {
        return await work();
      } catch (error) {
        throw sqliteError(error);
      }
    });
  }
}

type StoredRow = readonly [name: Table, part: string, key: string, value: string];
type StoredKey = readonly [name: Table, part: string, key: string];

interface DividedWrites {
  readonly kept: StoredRow[];
  readonly removed: StoredKey[];
  readonly objects: LocalRow[];
  readonly removedObjects: LocalKey[];
}

/** The last write of each key, as SQLite gets them. */
function divided(writes: readonly LocalWrite[]): DividedWrites {
  const last = new Map(writes.map((write) => [JSON.stringify([write.table, ...write.key]), write]));
  const division: DividedWrites = { kept: [], removed: [], objects: [], removedObjects: [] };
  for (const { table, key, value } of last.values()) {
    const [part, name] = [storedText(key[0]), storedText(key[1])];
    if (table === 'objects' && value === undefined) division.removedObjects.push(key);
    else if (table === 'objects' && value !== undefined) division.objects.push({ table, key, value });
    else if (value === undefined) division.removed.push([table, part, name]);
    else division.kept.push([table, part, name, JSON.stringify(value)]);
  }
  return division;
}

function otherRow({ name, part, key, value }: Readonly<Record<string, unknown>>): LocalRow {
  const pair: LocalKey = [keyIn(String(part)), keyIn(String(key))];
  return { table: name as Table, key: pair, value: JSON.parse(String(value)) as LocalRow['value'] };
}

const SHARED =
  'another store has this connection already: open the device once, in a module of its own; in development, reload the app after a change of that module';
const FOREIGN = 'the database has tables of something else: give the store a file of its own';

function newer(version: number): string {
  return `the database was written by a newer version of the app (tables of version ${version}): update the app`;
}
