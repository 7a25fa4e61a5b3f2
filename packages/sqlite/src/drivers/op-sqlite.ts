import type { SqliteDriver, SqliteRow, SqliteValue } from '../sqlite-driver.ts';

/** What the store uses of `open` of `@op-engineering/op-sqlite`. */
export interface OpSqliteDatabase {
  execute(statement: string, values?: SqliteValue[]): Promise<{ readonly rows: SqliteRow[] }>;
  close(): void;
}

/** A driver over `op-sqlite`: `opSqlite(open({ name: 'tidemark.db' }))`. */
export function opSqlite(database: OpSqliteDatabase): SqliteDriver {
  return {
    async execute(statements) {
      // One call runs one statement. Those of the store have no semicolon of their own.
      for (const statement of statements.split(';')) if (statement.trim() !== '') await database.execute(statement);
    },
    run: (statement, values) => database.execute(statement, [...values]),
    all: async (query, values) => (await database.execute(query, [...values])).rows,
    close: () => database.close(),
  };
}
