import sqlite3InitModule from '@sqlite.org/sqlite-wasm';
import sqlite from 'node-sqlite3-wasm';
import { type NodeSqliteDatabase, nodeSqlite } from '../drivers/node-sqlite.ts';
import { wasmSqlite } from '../drivers/wasm-sqlite.ts';
import type { SqliteDriver } from '../sqlite-driver.ts';

type OpenInMemory = () => Promise<SqliteDriver>;

/** Every SQLite that runs here, by its name: functions that open an empty database in memory. */
export async function sqlites(): Promise<readonly (readonly [name: string, open: OpenInMemory])[]> {
  const own = await sqliteOfNode();
  return [
    ['node-sqlite3-wasm', async () => wasmSqlite(new sqlite.Database(':memory:'))],
    ['@sqlite.org/sqlite-wasm', sqliteOfBrowsers],
    ...(own === null ? [] : [['node:sqlite', async () => nodeSqlite(own(':memory:'))] as const]),
  ];
}

/** Null: this Node.js has none. */
export async function sqliteOfNode(): Promise<((file: string) => NodeSqliteDatabase) | null> {
  // Not a literal, so that it is not looked for where it is missing.
  const name: string = 'node:sqlite';
  try {
    const { DatabaseSync } = (await import(name)) as { DatabaseSync: new (file: string) => NodeSqliteDatabase };
    return (file) => new DatabaseSync(file);
  } catch {
    return null;
  }
}

async function sqliteOfBrowsers(): Promise<SqliteDriver> {
  const { oo1 } = await sqlite3InitModule();
  const database = new oo1.DB(':memory:');
  return {
    execute: (statements) => database.exec(statements),
    run: (statement, values) => database.exec({ sql: statement, bind: [...values] }),
    all: (query, values) => database.selectObjects(query, values.length === 0 ? undefined : [...values]),
    close: () => database.close(),
  };
}
