import type { LocalRow, Table } from '@tidemark/client';
import { readRow } from './rows-table.ts';
import type { SqliteDriver, SqliteRow } from './sqlite-driver.ts';

/** The tables whose rows the server does not have, or that say what those rows belong to. */
const TABLES = ['facts', 'uploads', 'problems', 'links', 'acknowledgements'] as const satisfies readonly Table[];

export interface Salvage {
  readonly rows: readonly LocalRow[];
  /** False: there may have been more rows. */
  readonly isWhole: boolean;
}

type Key = readonly [part: string, key: string];
type Walk = 'ended' | 'met known rows' | 'met damage';

const PAGE = 100;
const [FIRST, LAST]: readonly [Key, Key] = [
  ['', ''],
  ['\u{10ffff}', ''],
];
const DIGITS = [...'0123456789abcdef'];
/**
 * Where reading begins anew, so that damaged pages do not hide what is between them. Changes have random hexadecimal names; the
 * others are the names of facts that say whose changes they are.
 */
const PROBES: readonly Key[] = [
  ...['owner', 'session', 'secure_session'].map((name) => ['', name] as const),
  ...DIGITS.flatMap((digit) => DIGITS.map((next) => ['', digit + next] as const)),
];

/**
 * Reads the rows of a damaged database that only it may have, row by row, so that one page that cannot be read takes no others with it.
 * Never throws.
 */
export async function salvage(driver: SqliteDriver): Promise<Salvage> {
  try {
    // Without it, a write-ahead log needs shared memory, which WebAssembly has not.
    await driver.execute('PRAGMA locking_mode = EXCLUSIVE');
    // SQLite then passes over what it cannot read of the schema.
    await driver.execute('PRAGMA writable_schema = ON');
    const isSound = await isUndamaged(driver);
    let isWhole = isSound;
    const rows: LocalRow[] = [];
    for (const table of TABLES) {
      const reader = new TableReader(driver, table);
      isWhole = (await reader.read(isSound)) && isWhole;
      rows.push(...reader.rows);
    }
    return { rows, isWhole };
  } catch {
    return { rows: [], isWhole: false };
  }
}

async function isUndamaged(driver: SqliteDriver): Promise<boolean> {
  try {
    const [row] = await driver.all('PRAGMA quick_check(rows)', []);
    return Object.values(row ?? {})[0] === 'ok';
  } catch {
    return false;
  }
}

class TableReader {
  readonly rows: LocalRow[] = [];
  readonly #driver: SqliteDriver;
  readonly #table: Table;
  readonly #known = new Set<string>();

  constructor(driver: SqliteDriver, table: Table) {
    this.#driver = driver;
    this.#table = table;
  }

  /** Returns true if every row was read. If the tree is not sound, a wrong key can make the end seem near. */
  async read(isSound: boolean): Promise<boolean> {
    const walk = await this.#walk(FIRST, '>=');
    if (isSound && walk === 'ended' && this.rows.length === this.#known.size) return true;
    await this.#walk(LAST, '<=');
    for (const probe of PROBES) {
      await this.#walk(probe, '>=');
      await this.#walk(probe, '<=');
    }
    return false;
  }

  /** Reads rows from a key on, in pages until one cannot be read and then one by one. */
  async #walk(from: Key, direction: '>=' | '<='): Promise<Walk> {
    let [last, comparison, limit]: [Key, string, number] = [from, direction, PAGE];
    for (;;) {
      const page = await this.#keys(last, comparison, limit);
      if (page === null && limit === 1) return 'met damage';
      if (page === null) {
        limit = 1;
        continue;
      }
      if (!(await this.#readAll(page))) return 'met known rows';
      const end = page.at(-1);
      if (end === undefined || page.length < limit) return 'ended';
      [last, comparison] = [end, direction.slice(0, 1)];
    }
  }

  /** Returns false if it meets one that is known, which also ends a tree that leads back to itself. */
  async #readAll(keys: readonly Key[]): Promise<boolean> {
    for (const key of keys) {
      const name = JSON.stringify(key);
      if (this.#known.has(name)) return false;
      this.#known.add(name);
      await this.#readOne(key);
    }
    return true;
  }

  async #keys([part, key]: Key, comparison: string, limit: number): Promise<readonly Key[] | null> {
    const order = comparison.startsWith('>') ? 'ASC' : 'DESC';
    const query = `
SELECT part, key FROM rows WHERE name = ? AND (part, key) ${comparison} (?, ?)
ORDER BY part ${order}, key ${order} LIMIT ?`;
    try {
      const page = await this.#driver.all(query, [this.#table, part, key, limit]);
      return page.map((row) => [String(row.part), String(row.key)] as const);
    } catch {
      return null;
    }
  }

  async #readOne(key: Key): Promise<void> {
    try {
      const row = await this.#rowAt(key);
      if (row !== undefined) this.rows.push(readRow(row));
    } catch {
      // It counts as not read.
    }
  }

  /** All columns there are, because tables of before version 3 have no checksums. */
  async #rowAt([part, key]: Key): Promise<SqliteRow | undefined> {
    const query = 'SELECT * FROM rows WHERE name = ? AND part = ? AND key = ?';
    const [row] = await this.#driver.all(query, [this.#table, part, key]);
    return row;
  }
}
