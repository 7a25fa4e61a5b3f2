import type { SqliteDriver, SqliteRow, SqliteValue } from '../sqlite-driver.ts';

/** What the store uses of `DatabaseSync` of `node:sqlite` and of `Database` of `better-sqlite3`. */
export interface NodeSqliteDatabase {
  exec(statements: string): unknown;
  prepare(statement: string): {
    run(...values: SqliteValue[]): unknown;
    all(...values: SqliteValue[]): unknown[];
  };
  close(): unknown;
}

/** A driver over `node:sqlite` (Node.js 22.5 and newer) or `better-sqlite3`. */
export function nodeSqlite(database: NodeSqliteDatabase): SqliteDriver {
  return {
    execute: (statements) => database.exec(statements),
    run: (statement, values) => database.prepare(statement).run(...values),
    all: (query, values) => database.prepare(query).all(...values) as SqliteRow[],
    close: () => database.close(),
  };
}
