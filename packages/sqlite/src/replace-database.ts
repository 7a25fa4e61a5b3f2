import type { ClientError, LocalStore } from '@tidemark/client';
import type { DatabaseSeries } from './database-series.ts';
import type { Salvage } from './salvage.ts';
import type { Saved } from './saved-rows.ts';
import { isBegun } from './schema.ts';
import { damaged, isDamage } from './sqlite-error.ts';
import { openSqlite } from './sqlite-store.ts';

/** What becomes of a damaged database. */
export interface SqliteDamage extends Saved {
  /** The damaged database. It stays where it is until the app deletes it. */
  readonly name: string;
  /** The database that takes its place. */
  readonly newName: string;
  readonly error: ClientError;
}

export interface ReplaceOptions {
  /**
   * Called before another database takes the place of a damaged one. If it throws, opening rejects with its error, and the next opening
   * tries again.
   */
  readonly onDamaged?: (damage: SqliteDamage) => Promise<void> | void;
}

/** A store and the number of its database. */
export interface Opened {
  readonly store: LocalStore;
  readonly number: number;
}

/** Opens the database with the highest number. If it is damaged, or has not taken the place of the one before yet, it is replaced or filled. */
export async function openNewest(series: DatabaseSeries, options: ReplaceOptions): Promise<Opened> {
  const numbers = await series.numbers();
  // Not `toReversed`, which engines of phones may lack.
  const [number = 1, before] = [numbers[numbers.length - 1], numbers[numbers.length - 2]];
  try {
    return { store: await openSqlite(await series.open(number), { mayBeEmpty: before === undefined }), number };
  } catch (error) {
    if (!isDamage(error)) throw error;
    if (!isBegun(error)) return replace(series, options, { from: number, to: number + 1, error });
    // The app may have deleted the damaged one, or all but this one.
    return replace(series, options, { from: before ?? null, to: number, error: damaged() });
  }
}

interface Replacement {
  /** Null: it is not there any more. */
  readonly from: number | null;
  readonly to: number;
  readonly error: ClientError;
}

/** Fills the new database in one transaction. If the process dies before, the next opening does it again. */
export async function replace(
  series: DatabaseSeries,
  { onDamaged }: ReplaceOptions,
  { from, to, error }: Replacement,
): Promise<Opened> {
  const { savedRows } = await import('./saved-rows.ts');
  const { rows, ...saved } = savedRows(from === null ? NOTHING : await salvageFrom(series, from));
  if (from !== null) await onDamaged?.({ name: series.nameOf(from), newName: series.nameOf(to), error, ...saved });
  return { store: await openSqlite(await series.open(to), { rows }), number: to };
}

const NOTHING: Salvage = { rows: [], isWhole: true };

async function salvageFrom(series: DatabaseSeries, number: number): Promise<Salvage> {
  const driver = await series.open(number).catch(() => null);
  if (driver === null) return { rows: [], isWhole: false };
  // Few apps ever need it.
  const { salvage } = await import('./salvage.ts');
  const found = await salvage(driver);
  try {
    await driver.close();
  } catch {
    // A damaged database may not be able to empty its log.
  }
  return found;
}
