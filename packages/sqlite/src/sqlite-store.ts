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
} from '@tidemark/client';
import { convertFrom1 } from './convert.ts';
import { localRow, ObjectsTable, sumOf } from './objects-table.ts';
import { RowsTable } from './rows-table.ts';
import { type Expected, MARKS, numberIn, requireOurs, TABLES_SQL, VERSION } from './schema.ts';
import type { SqliteDriver } from './sqlite-driver.ts';
import { isDamage, sqliteError } from './sqlite-error.ts';
import { Turns } from './turns.ts';

export interface SqliteStoreOptions {
  /** Where the bytes of files are stored. Absent: the device keeps no files. */
  readonly files?: FileDirectory;
}

/**
 * The first statements of a connection. Nobody else may use the database, which also lets SQLite keep its index of the write-ahead log in
 * memory; deleted bytes are overwritten.
 */
const OPENING = 'PRAGMA locking_mode = EXCLUSIVE; PRAGMA secure_delete = ON';
/**
 * Opens a store in a SQLite database that belongs to it alone. A commit is a transaction of SQLite: it is there completely or not at
 * all, and flushed to the disk when it resolves.
 */
export async function openSqliteStore(driver: SqliteDriver, { files }: SqliteStoreOptions = {}): Promise<LocalStore> {
  const store = await openSqlite(driver);
  return files === undefined ? store : Object.assign(store, { files: async () => files });
}

export async function openSqlite(driver: SqliteDriver, expected: Expected = {}): Promise<LocalStore> {
  const store = new SqliteStore(driver);
  await store.open(expected);
  return store;
}

class SqliteStore implements LocalStore {
  readonly disk: DiskPart;
  readonly #driver: SqliteDriver;
  readonly #rows: RowsTable;
  readonly #objects: ObjectsTable;
  readonly #turns = new Turns();
  /** Whether commits are flushed to the disk one by one. */
  #isFlushing = true;
  /** Whether deleted bytes are still in the log that must not be. */
  #mustScrub = false;
  #isClosed = false;
  /** True: another store has the connection. */
  #isShared = false;
  /** Present once damage was noticed: nothing is written from then on. */
  #damage: ClientError | null = null;
  #onLost: (error: ClientError) => void = () => undefined;

  constructor(driver: SqliteDriver) {
    this.#driver = driver;
    this.#rows = new RowsTable(driver);
    this.#objects = new ObjectsTable(driver);
    this.disk = this.#diskPart();
  }

  async open(expected: Expected): Promise<void> {
    try {
      await this.#work(() => this.#open(expected));
    } catch (error) {
      // Nobody could close it otherwise, and it would stay locked. A connection of another store stays as it is.
      if (!this.#isShared) await this.close().catch(() => undefined);
      throw error;
    }
  }

  async #open(expected: Expected): Promise<void> {
    const [mode] = await this.#driver.all('PRAGMA locking_mode', []);
    this.#isShared = mode?.locking_mode === 'exclusive';
    if (this.#isShared) throw new ClientError('store_in_use', SHARED);
    await this.#driver.execute(OPENING);
    const version = await requireOurs(this.#driver, expected);
    await this.#driver.all('PRAGMA journal_mode = WAL', []);
    await this.#driver.execute('PRAGMA synchronous = FULL');
    if (version < VERSION) await this.#transaction(() => this.#makeTables(version, expected.rows ?? []));
    await this.#rows.requireWhole();
    await this.#objects.indexes.load();
  }

  async #makeTables(version: number, rows: readonly LocalRow[]): Promise<void> {
    await this.#driver.execute(TABLES_SQL);
    await this.#rows.addChecksums();
    if (version === 1) await convertFrom1(this.#driver, this.#objects);
    await this.#rows.put(rows);
    await this.#driver.execute(MARKS);
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
      if (this.#damage !== null) throw this.#damage;
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
    await this.#rows.remove(removed);
    await this.#rows.put(kept);
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
      const others = await this.#rows.all();
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
    const busy = await numberIn(this.#driver, 'PRAGMA wal_checkpoint(TRUNCATE)', 'busy');
    this.#mustScrub = busy !== 0;
  }

  /** Waits for the work before it: libraries close a connection under a statement that still runs. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#turns.take(async () => this.#driver.close());
  }

  onLost(listener: (error: ClientError) => void): void {
    this.#onLost = listener;
    const damage = this.#damage;
    // Whoever registers is ready then.
    if (damage !== null) void Promise.resolve().then(() => listener(damage));
  }

  #noteDamage(error: ClientError): void {
    if (this.#damage !== null) return;
    this.#damage = error;
    this.#onLost(error);
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

  /** Nothing sees a part of the work of another. */
  #work<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new ClientError('closed', 'the store is closed'));
    return this.#turns.take(async () => {
      try {
        return await work();
      } catch (error) {
        const known = sqliteError(error);
        if (isDamage(known)) this.#noteDamage(known);
        throw known;
      }
    });
  }
}

interface DividedWrites {
  readonly kept: LocalRow[];
  readonly removed: LocalWrite[];
  readonly objects: LocalRow[];
  readonly removedObjects: LocalKey[];
}

/** The last write of each key, as SQLite gets them. */
function divided(writes: readonly LocalWrite[]): DividedWrites {
  const last = new Map(writes.map((write) => [JSON.stringify([write.table, ...write.key]), write]));
  const division: DividedWrites = { kept: [], removed: [], objects: [], removedObjects: [] };
  for (const write of last.values()) {
    const { table, key, value } = write;
    if (value === undefined && table === 'objects') division.removedObjects.push(key);
    else if (value === undefined) division.removed.push(write);
    else (table === 'objects' ? division.objects : division.kept).push({ table, key, value });
  }
  return division;
}

const SHARED =
  'another store has this connection already: open the device once, in a module of its own; in development, reload the app after a change of that module';
