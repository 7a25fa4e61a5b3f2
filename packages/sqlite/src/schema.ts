import { ClientError, type LocalRow } from '@tidemark/client';
import { INDEXES_SQL } from './index-list.ts';
import { OBJECTS_SQL } from './objects-table.ts';
import { ROWS_SQL } from './rows-table.ts';
import type { SqliteDriver } from './sqlite-driver.ts';
import { damaged } from './sqlite-error.ts';

/** "Tide" and the version of the tables. */
const APPLICATION_ID = 0x54696465;
export const VERSION = 3;
/** Larger versions were never given to any tables: the header of the file is damaged. */
const VERSION_MAX = 1_000;

export const TABLES_SQL = `${ROWS_SQL}; ${OBJECTS_SQL}; ${INDEXES_SQL}`;
export const MARKS = `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}`;
const TABLES = 'SELECT count(*) AS tables FROM sqlite_schema';
const OUR_TABLES = `${TABLES} WHERE name IN ('rows', 'objects', 'indexes')`;

/** The cause of the error about a database that was marked and not filled yet. */
const BEGUN = new Error('the database has not taken the place of a damaged one yet');

export function isBegun(error: ClientError): boolean {
  return error.cause === BEGUN;
}

/** Marks an empty database as one that is to take the place of a damaged one. */
export async function markAsBegun(driver: SqliteDriver): Promise<void> {
  await driver.execute(`PRAGMA application_id = ${APPLICATION_ID}`);
}

export interface Expected {
  /** The rows that a database begins with which takes the place of a damaged one. */
  readonly rows?: readonly LocalRow[];
  /** False: an empty database has not taken the place of a damaged one yet. Default: true. */
  readonly mayBeEmpty?: boolean;
}

/** Returns the version of the tables; 0: there are none. Throws unless the database is one of ours, or empty. */
export async function requireOurs(driver: SqliteDriver, { rows, mayBeEmpty = true }: Expected): Promise<number> {
  const version = await numberIn(driver, 'PRAGMA user_version', 'user_version');
  const owner = await numberIn(driver, 'PRAGMA application_id', 'application_id');
  const tables = await numberIn(driver, TABLES, 'tables');
  if (owner !== APPLICATION_ID && (owner !== 0 || tables > 0)) {
    // Without its mark, and with its tables, the header of the file is damaged.
    const ours = await numberIn(driver, OUR_TABLES, 'tables');
    throw ours === 0 ? new ClientError('store_failed', FOREIGN) : damaged();
  }
  if (version < 0 || version > VERSION_MAX) throw damaged();
  if (version > VERSION) throw new ClientError('store_failed', newer(version));
  const isBegunNow = tables === 0 && (owner === APPLICATION_ID || !mayBeEmpty);
  if (isBegunNow && rows === undefined) throw damaged(BEGUN);
  return version;
}

export async function numberIn(driver: SqliteDriver, query: string, column: string): Promise<number> {
  const [row] = await driver.all(query, []);
  return Number(row?.[column] ?? 0);
}

const FOREIGN = 'the database has tables of something else: give the store a file of its own';

function newer(version: number): string {
  return `the database was written by a newer version of the app (tables of version ${version}): update the app`;
}
