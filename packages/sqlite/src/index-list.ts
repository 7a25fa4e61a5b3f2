import type { SqliteDriver } from './sqlite-driver.ts';

/** The sort keys of an object, one for each index of its source, are an array in its row. */
export const INDEXES_SQL = `
CREATE TABLE IF NOT EXISTS indexes (
  number INTEGER PRIMARY KEY, source TEXT NOT NULL, path TEXT NOT NULL, position INTEGER NOT NULL,
  UNIQUE (source, path)
)`;

export interface StoredIndex {
  readonly name: string;
  readonly path: string;
  /** The position of its key in the array. */
  readonly position: number;
}

/** The indexes that sources have. */
export class IndexList {
  readonly #driver: SqliteDriver;
  readonly #bySource = new Map<string, StoredIndex[]>();

  constructor(driver: SqliteDriver) {
    this.#driver = driver;
  }

  async load(): Promise<void> {
    const rows = await this.#driver.all('SELECT number, source, path, position FROM indexes ORDER BY position', []);
    for (const { number, source, path, position } of rows)
      this.#add(String(source), String(path), { number, position });
  }

  of(source: string): readonly StoredIndex[] {
    return this.#bySource.get(source) ?? [];
  }

  find(source: string, path: string): StoredIndex | undefined {
    return this.of(source).find((index) => index.path === path);
  }

  /** Stores an index without making it. Within the transaction that makes it. */
  async put(source: string, path: string): Promise<StoredIndex> {
    const position = this.of(source).length;
    const insert = 'INSERT INTO indexes (source, path, position) VALUES (?, ?, ?)';
    await this.#driver.run(insert, [source, path, position]);
    const [row] = await this.#driver.all('SELECT number FROM indexes WHERE source = ? AND path = ?', [source, path]);
    return this.#add(source, path, { number: row?.number, position });
  }

  /** To be called if that transaction failed. */
  remove(source: string, path: string): void {
    const left = this.of(source).filter((index) => index.path !== path);
    this.#bySource.set(source, left);
  }

  #add(source: string, path: string, row: { readonly number: unknown; readonly position: unknown }): StoredIndex {
    const index = { name: `objects_by_${Number(row.number)}`, path, position: Number(row.position) };
    this.#bySource.set(source, [...this.of(source), index]);
    return index;
  }
}
