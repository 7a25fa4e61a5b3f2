/** What a statement is given: texts, numbers and nothing else. */
export type SqliteValue = string | number | null;

/** A row by the names of its columns. */
export type SqliteRow = Readonly<Record<string, unknown>>;

/**
 * One open connection to a SQLite database. Every call is made after the one before has ended. A driver may answer with a promise or at
 * once. SQLite is 3.38 or newer, with its JSON functions.
 */
export interface SqliteDriver {
  /** Runs statements that need no parameters and answer nothing, as one text. */
  execute(statements: string): Promise<unknown> | unknown;
  /** Runs one statement, with a value for each `?`. */
  run(statement: string, values: readonly SqliteValue[]): Promise<unknown> | unknown;
  /** Runs one query and returns its rows. */
  all(query: string, values: readonly SqliteValue[]): Promise<readonly SqliteRow[]> | readonly SqliteRow[];
  close(): Promise<unknown> | unknown;
}
