import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Database as SqliteDatabase } from 'node-sqlite3-wasm';

// The package is CommonJS, and its names are not visible to `import`.
const { Database: Sqlite } = createRequire(import.meta.url)('node-sqlite3-wasm') as typeof import('node-sqlite3-wasm');

export type Value = string | number | null;
export type Row = Readonly<Record<string, Value>>;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS technicians (
    login TEXT PRIMARY KEY, region TEXT NOT NULL, password_hash TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS dispatchers (
    login TEXT PRIMARY KEY, password_hash TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS customers (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, address TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS work_orders (
    id INTEGER PRIMARY KEY AUTOINCREMENT, technician TEXT NOT NULL REFERENCES technicians (login),
    customer_id INTEGER REFERENCES customers (id), title TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'open',
    priority TEXT NOT NULL DEFAULT 'normal', due_on TEXT, notes TEXT NOT NULL DEFAULT '', hours REAL NOT NULL DEFAULT 0,
    made_on_device INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS parts (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL, price_cents INTEGER NOT NULL, stock INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS part_uses (
    id INTEGER PRIMARY KEY AUTOINCREMENT, work_order_id INTEGER NOT NULL REFERENCES work_orders (id),
    part_id TEXT NOT NULL REFERENCES parts (id), quantity INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS operations (
    technician TEXT NOT NULL, op_id TEXT NOT NULL, answer TEXT NOT NULL, PRIMARY KEY (technician, op_id)
  );
  CREATE TABLE IF NOT EXISTS outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, user_id TEXT, object_id TEXT NOT NULL
  );
`;

/** SQLite in WebAssembly, on a file. One process at a time. */
export class Database {
  readonly #sqlite: SqliteDatabase;
  readonly #ownerFile: string;

  constructor(file: string) {
    this.#ownerFile = `${file}.owner`;
    takeOver(file, this.#ownerFile);
    this.#sqlite = new Sqlite(file);
    this.#sqlite.exec('PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;');
    this.#sqlite.exec(SCHEMA);
  }

  all(sql: string, ...values: Value[]): readonly Row[] {
    return this.#sqlite.all(sql, values) as unknown as readonly Row[];
  }

  get(sql: string, ...values: Value[]): Row | null {
    return this.#sqlite.get(sql, values) as unknown as Row | null;
  }

  run(sql: string, ...values: Value[]): { readonly changes: number; readonly id: number } {
    const { changes, lastInsertRowid } = this.#sqlite.run(sql, values);
    return { changes, id: Number(lastInsertRowid) };
  }

  /** All of it, or nothing. */
  transaction<T>(work: () => T): T {
    this.#sqlite.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#sqlite.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#sqlite.inTransaction) this.#sqlite.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#sqlite.close();
    rmSync(this.#ownerFile, { force: true });
  }
}

/**
 * This build of SQLite locks by making a folder, which a process that is killed leaves behind. So who has the file is
 * written beside it, and a lock whose owner is gone is taken away; SQLite then rolls back by itself what was half done.
 */
function takeOver(file: string, ownerFile: string): void {
  const owner = existsSync(ownerFile) ? Number(readFileSync(ownerFile, 'utf8')) : null;
  if (owner !== null && owner !== process.pid && isRunning(owner)) {
    throw new Error(`process ${owner} has ${file} open already`);
  }
  rmSync(`${file}.lock`, { recursive: true, force: true });
  writeFileSync(ownerFile, String(process.pid));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
