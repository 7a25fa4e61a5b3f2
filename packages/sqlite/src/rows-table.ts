import type { LocalKey, LocalRow, Table } from '@tidemark/client';
import { type JsonValue, textChecksum } from '@tidemark/protocol';
import type { SqliteDriver, SqliteRow } from './sqlite-driver.ts';
import { damaged } from './sqlite-error.ts';
import { keyIn, storedText, storedTextOf } from './stored-text.ts';

/** Each row has a checksum, because SQLite does not notice that bytes of a value were changed. Rows of before version 3 have none. */
export const ROWS_SQL = `
CREATE TABLE IF NOT EXISTS rows (
  name TEXT NOT NULL, part TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, checksum TEXT,
  PRIMARY KEY (name, part, key)
) WITHOUT ROWID`;

/** One call for all writes, whatever a call of the driver costs. */
const PUT = `
INSERT INTO rows (name, part, key, value, checksum)
SELECT w.value ->> 0, w.value ->> 1, w.value ->> 2, w.value ->> 3, w.value ->> 4 FROM json_each(?) AS w WHERE true
ON CONFLICT DO UPDATE SET value = excluded.value, checksum = excluded.checksum`;
const REMOVE = `
DELETE FROM rows WHERE (name, part, key) IN (
  SELECT w.value ->> 0, w.value ->> 1, w.value ->> 2 FROM json_each(?) AS w
)`;
const ALL = 'SELECT name, part, key, value, checksum FROM rows';
const COLUMNS = "SELECT name FROM pragma_table_info('rows')";

/** The rows of all tables except the objects, within the turns and transactions of their store. */
export class RowsTable {
  readonly #driver: SqliteDriver;

  constructor(driver: SqliteDriver) {
    this.#driver = driver;
  }

  /** Throws if the tree of the table is damaged: SQLite may read it all the same, and leave out rows. */
  async requireWhole(): Promise<void> {
    const found = await this.#driver.all('PRAGMA quick_check(rows)', []);
    const [first] = found.map((row) => Object.values(row)[0]);
    if (first !== 'ok') throw damaged(new Error(String(first)));
  }

  async all(): Promise<readonly LocalRow[]> {
    return (await this.#driver.all(ALL, [])).map(readRow);
  }

  /** Gives a table of before version 3 the column of checksums. */
  async addChecksums(): Promise<void> {
    const columns = await this.#driver.all(COLUMNS, []);
    if (columns.some(({ name }) => name === 'checksum')) return;
    await this.#driver.execute('ALTER TABLE rows ADD COLUMN checksum TEXT');
  }

  async put(rows: readonly LocalRow[]): Promise<void> {
    if (rows.length > 0) await this.#driver.run(PUT, [JSON.stringify(rows.map(storedRow))]);
  }

  async remove(rows: readonly { readonly table: Table; readonly key: LocalKey }[]): Promise<void> {
    const keys = rows.map(({ table, key }) => [table, storedText(key[0]), storedText(key[1])]);
    if (keys.length > 0) await this.#driver.run(REMOVE, [JSON.stringify(keys)]);
  }
}

function storedRow({ table, key, value }: LocalRow): readonly string[] {
  const texts = [table, storedText(key[0]), storedText(key[1]), JSON.stringify(value)] as const;
  return [...texts, checksumOf(texts)];
}

/** Throws if the row is not as it was written. */
export function readRow({ name, part, key, value, checksum }: SqliteRow): LocalRow {
  const texts = [storedTextOf(name), storedTextOf(part), storedTextOf(key), storedTextOf(value)] as const;
  if (typeof checksum === 'string' && checksum !== checksumOf(texts)) {
    throw damaged(new Error(`a row of ${texts[0]} has another checksum than when it was written`));
  }
  try {
    const pair: LocalKey = [keyIn(texts[1]), keyIn(texts[2])];
    return { table: texts[0] as Table, key: pair, value: JSON.parse(texts[3]) as JsonValue };
  } catch (error) {
    throw damaged(error);
  }
}

function checksumOf([name, part, key, value]: readonly [string, string, string, string]): string {
  return textChecksum(`${name} ${part.length} ${key.length} ${part}${key}${value}`).toString(36);
}
