import type { DiskChanges, LocalKey, LocalRow, Measure, Scan, StoredObject, Union } from '@tidemark/client';
import {
  addChecksums,
  attributesChecksum,
  type JsonValue,
  parsePath,
  sortKey,
  textKey,
  textOfKey,
  valueAt,
} from '@tidemark/protocol';
import { IndexList, type StoredIndex } from './index-list.ts';
import { literal, scanSql } from './scan-sql.ts';
import type { SqliteDriver, SqliteRow, SqliteValue } from './sqlite-driver.ts';
import { damaged } from './sqlite-error.ts';
import { storedTextOf } from './stored-text.ts';

type Attributes = Readonly<Record<string, JsonValue>>;

/**
 * Objects with their checksums. First parts of keys and ids are stored as `textKey` makes them, so that SQLite sorts them as the SDK does.
 * Rows are in the order in which they came, and a second tree finds them: large rows in the order of random ids take twice as long to
 * write.
 */
export const OBJECTS_SQL = `
CREATE TABLE IF NOT EXISTS objects (
  first TEXT NOT NULL, id TEXT NOT NULL, checksum INTEGER NOT NULL, keys TEXT, value TEXT NOT NULL, UNIQUE (first, id)
)`;

/** One call for all writes, whatever a call of the driver costs. */
const PUT = `
INSERT INTO objects (first, id, checksum, keys, value)
SELECT w.value ->> 0, w.value ->> 1, w.value ->> 2, w.value ->> 3, w.value ->> 4 FROM json_each(?) AS w WHERE true
ON CONFLICT (first, id) DO UPDATE SET checksum = excluded.checksum, keys = excluded.keys, value = excluded.value`;
const REMOVE = `
DELETE FROM objects WHERE (first, id) IN (SELECT w.value ->> 0, w.value ->> 1 FROM json_each(?) AS w)`;
const READ = `
SELECT w.key AS number, o.checksum AS checksum, o.value AS value FROM json_each(?) AS w
JOIN objects AS o ON o.first = w.value ->> 0 AND o.id = w.value ->> 1`;
const pageFrom = (where: string, isFirst: boolean) => `
SELECT first, id, value FROM objects WHERE ${where} AND (first, id) ${isFirst ? '>=' : '>'} (?, ?)
ORDER BY first, id LIMIT ?`;
/** Halves of checksums, because their sum does not fit 64 bits. */
const measureFrom = (isFirst: boolean) => `
SELECT max(id) AS last, count(*) AS size, sum(checksum >> 26) AS high, sum(checksum & 67108863) AS low
FROM (SELECT id, checksum FROM objects WHERE first = ? AND id ${isFirst ? '>=' : '>'} ? ORDER BY id LIMIT ?)`;
const LOW_SIZE = 2 ** 26;
/** Not `**`, of which some presets of Babel make `Math.pow`, which takes no BigInt. */
const MODULUS = BigInt(LOW_SIZE) * BigInt(LOW_SIZE);
const SET_KEYS = `
UPDATE objects SET keys = w.value ->> 2 FROM json_each(?) AS w
WHERE objects.first = w.value ->> 0 AND objects.id = w.value ->> 1`;

/** What SQLite takes for no limit. */
const NO_LIMIT = -1;
/** Rows that are read at once, so that a driver need not hold all of them twice. */
const PAGE = 5_000;

/** What separates a source from a group, and marks who owns its objects. */
const GROUP_MARK = '\u001f';
const OWNERS_MARK = '\u001e';

/** The table of objects, within the turns and transactions of its store. */
export class ObjectsTable {
  readonly indexes: IndexList;
  readonly #driver: SqliteDriver;

  constructor(driver: SqliteDriver) {
    this.#driver = driver;
    this.indexes = new IndexList(driver);
  }

  // Reading

  /** Yields all objects but those of the sources, page by page. It does not visit what it leaves out. */
  async *pages(without: readonly string[]): AsyncGenerator<readonly SqliteRow[]> {
    for (const range of rangesWithout(without)) yield* this.#pages(range);
  }

  async *#pages(where: string): AsyncGenerator<readonly SqliteRow[]> {
    let last: SqliteRow | undefined;
    do {
      const { first = '', id = '' } = last ?? {};
      const page = await this.#driver.all(pageFrom(where, last === undefined), [String(first), String(id), PAGE]);
      last = page.length < PAGE ? undefined : page.at(-1);
      yield page;
    } while (last !== undefined);
  }

  async read(keys: readonly LocalKey[]): Promise<readonly (JsonValue | undefined)[]> {
    const values: (JsonValue | undefined)[] = keys.map(() => undefined);
    for (let from = 0; from < keys.length; from += PAGE) {
      const part = keys.slice(from, from + PAGE).map(([first, id]) => [textKey(first), textKey(id)]);
      const rows = await this.#driver.all(READ, [JSON.stringify(part)]);
      for (const row of rows) {
        const at = from + Number(row.number);
        const [first, id] = keys[at] as LocalKey;
        values[at] = checkedValue(first, id, row);
      }
    }
    return values;
  }

  async scan(scan: Scan): Promise<readonly StoredObject[]> {
    const { where, order, values } = scanSql(scan, this.#indexOf(scan));
    const query = `SELECT id, checksum, value FROM ${where} ${order} LIMIT ? OFFSET ?`;
    const limit = Number.isFinite(scan.limit) ? scan.limit : NO_LIMIT;
    const rows = await this.#driver.all(query, [...values, limit, scan.skip]);
    return rows.map((row) => {
      const id = nameOf(row.id);
      return [id, checkedValue(scan.first, id, row)];
    });
  }

  async count(scan: Pick<Scan, 'first' | 'path' | 'range'>, max: number): Promise<number> {
    const whole = { ...scan, isDescending: false, after: null, skip: 0, limit: max };
    const { where, values } = scanSql(whole, this.#indexOf(whole));
    const limit = Number.isFinite(max) ? [max] : [];
    const query = `SELECT count(*) AS size FROM (SELECT 1 FROM ${where}${limit.length > 0 ? ' LIMIT ?' : ''})`;
    const [row] = await this.#driver.all(query, [...values, ...limit]);
    return Number(row?.size);
  }

  /** Measures the next objects behind the stored id of one. Returns that of the last of them; null: there were none. */
  async measurePart(first: string, after: string | null): Promise<(Measure & { readonly last: string }) | null> {
    const [row] = await this.#driver.all(measureFrom(after === null), [textKey(first), after ?? '', PAGE]);
    if (row === undefined || row.last === null) return null;
    const { last, size, high, low } = row;
    const checksum = Number((BigInt(Number(high)) * BigInt(LOW_SIZE) + BigInt(Number(low))) % MODULUS);
    return { last: String(last), size: Number(size), checksum };
  }

  // Writing

  async put(rows: readonly LocalRow[]): Promise<void> {
    if (rows.length === 0) return;
    const stored = rows.map(({ key: [first, id], value }) => {
      const attributes = value as Attributes;
      const keys = this.#keysOf(first, attributes);
      return [textKey(first), textKey(id), attributesChecksum(id, attributes), keys, JSON.stringify(value)];
    });
    await this.#driver.run(PUT, [JSON.stringify(stored)]);
  }

  async remove(keys: readonly LocalKey[]): Promise<void> {
    if (keys.length === 0) return;
    const stored = keys.map(([first, id]) => [textKey(first), textKey(id)]);
    await this.#driver.run(REMOVE, [JSON.stringify(stored)]);
  }

  async drop(drops: DiskChanges['drops']): Promise<void> {
    if (drops === 'all') await this.#driver.run('DELETE FROM objects', []);
    else for (const first of drops) await this.#driver.run('DELETE FROM objects WHERE first = ?', [textKey(first)]);
  }

  async move([from, to]: DiskChanges['moves'][number]): Promise<void> {
    await this.drop([to]);
    await this.#driver.run('UPDATE objects SET first = ? WHERE first = ?', [textKey(to), textKey(from)]);
  }

  async unite({ first, owners, groups }: Union): Promise<void> {
    await this.drop([first, owners]);
    const given = JSON.stringify(groups.map(([group, own]) => [group, textKey(own)]));
    const held = 'json_each(?) AS g JOIN objects AS o ON o.first = g.value ->> 1';
    // Of columns beside `min` SQLite takes the row that has it.
    const union = `
INSERT INTO objects (first, id, checksum, keys, value) SELECT ?, id, checksum, keys, value FROM (
  SELECT o.id AS id, o.checksum AS checksum, o.keys AS keys, o.value AS value, min(g.key) FROM ${held} GROUP BY o.id
)`;
    await this.#driver.run(union, [textKey(first), given]);
    const who = `
INSERT INTO objects (first, id, checksum, value)
SELECT ?, id, 0, json_object('groups', json_group_array(name)) FROM (
  SELECT o.id AS id, g.value ->> 0 AS name FROM ${held} ORDER BY o.id, g.key
) GROUP BY id`;
    await this.#driver.run(who, [textKey(owners), given]);
  }

  /** Makes an index, within a transaction. */
  async addIndex(source: string, path: string): Promise<void> {
    const { name, position } = await this.indexes.put(source, path);
    await this.#driver.run(
      `CREATE INDEX ${name} ON objects (keys ->> ${position}, id) WHERE first = ${literal(textKey(source))}`,
      [],
    );
    // Also of groups, from whose rows those of the source are made.
    for await (const page of this.#pages(isOf(source))) {
      await this.#driver.run(SET_KEYS, [JSON.stringify(page.map((row) => this.#keyedRow(row)))]);
    }
  }

  #keyedRow({ first, id, value }: SqliteRow): readonly SqliteValue[] {
    const keys = this.#keysOf(nameOf(first), parsed(value) as Attributes);
    return [String(first), String(id), keys];
  }

  /** The keys of an object, as they are stored; null: its source has no indexes. */
  #keysOf(first: string, attributes: Attributes): string | null {
    const indexes = first.endsWith(OWNERS_MARK) ? [] : this.indexes.of(first.split(GROUP_MARK)[0] ?? '');
    if (indexes.length === 0) return null;
    return JSON.stringify(indexes.map(({ path }) => sortKey(valueAt(attributes, parsePath(path)))));
  }

  #indexOf({ first, path }: Pick<Scan, 'first' | 'path'>): StoredIndex | null {
    if (path === null) return null;
    const index = this.indexes.find(first, path);
    if (index === undefined)
      throw new Error(`there is no index on ${JSON.stringify(path)} of ${JSON.stringify(first)}`);
    return index;
  }
}

export function sumOf(left: Measure, right: Measure): Measure {
  return { size: left.size + right.size, checksum: addChecksums(left.checksum, right.checksum) };
}

/** True where the first part of a key is the source, or the source and a mark with what follows: names have no character below the blank. */
function isOf(source: string): string {
  return `first >= ${literal(textKey(source))} AND first < ${literal(behind(source))}`;
}

/** The conditions on the first part of a key that leave out the sources, one after the other. */
function rangesWithout(sources: readonly string[]): readonly string[] {
  const left = [...sources].sort((one, other) => (textKey(one) < textKey(other) ? -1 : 1));
  const starts = ['true', ...left.map((source) => `first >= ${literal(behind(source))}`)];
  const ends = [...left.map((source) => `first < ${literal(textKey(source))}`), 'true'];
  return starts.map((start, index) => `${start} AND ${ends[index]}`);
}

/** What comes behind the rows of a source and its groups. */
function behind(source: string): string {
  return textKey(`${source}\u0020`);
}

export function localRow({ first, id, value }: SqliteRow): LocalRow {
  return { table: 'objects', key: [nameOf(first), nameOf(id)], value: parsed(value) };
}

function nameOf(stored: unknown): string {
  try {
    return textOfKey(storedTextOf(stored));
  } catch (error) {
    throw damaged(error);
  }
}

/**
 * Returns the value of an object that is shown or changed. Throws if it is not as it was written, which SQLite does not notice. Rows that
 * say who owns an object have no checksum: they are made anew from the groups.
 */
function checkedValue(first: string, id: string, { value, checksum }: SqliteRow): JsonValue {
  const found = parsed(value);
  if (first.endsWith(OWNERS_MARK) || attributesChecksum(id, found as Attributes) === Number(checksum)) return found;
  throw damaged(new Error('an object has another checksum than when it was written'));
}

function parsed(value: unknown): JsonValue {
  try {
    return JSON.parse(storedTextOf(value)) as JsonValue;
  } catch (error) {
    throw damaged(error);
  }
}
