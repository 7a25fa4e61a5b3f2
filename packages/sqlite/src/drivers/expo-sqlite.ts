import type { SqliteDriver, SqliteValue } from '../sqlite-driver.ts';

/** What the store uses of `openDatabaseAsync` of `expo-sqlite`. */
export interface ExpoSqliteDatabase {
  execAsync(statements: string): Promise<void>;
  runAsync(statement: string, values: SqliteValue[]): Promise<unknown>;
  getAllAsync<T>(query: string, values: SqliteValue[]): Promise<T[]>;
  closeAsync(): Promise<void>;
}

/** A driver over `expo-sqlite`: `expoSqlite(await openDatabaseAsync('tidemark.db'))`. */
export function expoSqlite(database: ExpoSqliteDatabase): SqliteDriver {
  return {
    execute: (statements) => database.execAsync(statements),
    run: (statement, values) => database.runAsync(statement, [...values]),
    all: (query, values) => database.getAllAsync(query, [...values]),
    close: () => database.closeAsync(),
  };
}
