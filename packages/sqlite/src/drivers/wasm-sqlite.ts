import type { SqliteDriver, SqliteRow, SqliteValue } from '../sqlite-driver.ts';

/** What the store uses of `Database` of `node-sqlite3-wasm`. */
export interface WasmSqliteDatabase {
  exec(statements: string): void;
  run(statement: string, values: SqliteValue[]): unknown;
  all(query: string, values: SqliteValue[]): object[];
  close(): void;
}

/** A driver over `node-sqlite3-wasm`, for Node.js without anything to compile. */
export function wasmSqlite(database: WasmSqliteDatabase): SqliteDriver {
  return {
    execute: (statements) => database.exec(statements),
    run: (statement, values) => database.run(statement, [...values]),
    all: (query, values) => database.all(query, [...values]) as SqliteRow[],
    close: () => database.close(),
  };
}
