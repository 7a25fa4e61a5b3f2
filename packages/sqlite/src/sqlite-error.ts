import { ClientError } from '@tidemark/client';

const FULL =
  'there is no room left to store data on this device: free some space, or delete data of other apps; what was stored before is still there';
const IN_USE =
  'another process, or another connection of this one, has the database open: one device at a time may use it';
const DAMAGED =
  'the database is damaged: openHealingSqliteStore sets it aside and saves what was not sent; without it, delete the file, sign in again, and the device fetches its data again';
const UNREADABLE =
  'the file is not a database, or it is encrypted with another key than the one given: without that key, openHealingSqliteStore sets it aside, and the device fetches its data again after signing in; what was not sent is lost';

/** Drivers agree on the messages of SQLite, and on nothing else. The tables are there in every database that has the mark of ours. */
const REASONS = [
  [/database or disk is full|SQLITE_FULL|ENOSPC|no space left/i, 'storage_full', FULL],
  [/database is locked|SQLITE_BUSY|database table is locked/i, 'store_in_use', IN_USE],
  [/not a database|SQLITE_NOTADB|unsupported file format/i, 'store_damaged', UNREADABLE],
  [/malformed|SQLITE_CORRUPT|no such (table|column)/i, 'store_damaged', DAMAGED],
] as const;

/** Turns an error of a driver into one with a code. */
export function sqliteError(error: unknown): ClientError {
  if (error instanceof ClientError) return error;
  const { message = '', code = '' } = (error ?? {}) as { readonly [key in 'message' | 'code']?: unknown };
  const text = `${code} ${message}`;
  const known = REASONS.find(([pattern]) => pattern.test(text));
  if (known !== undefined) return new ClientError(known[1], known[2], { cause: error });
  return new ClientError('store_failed', message === '' ? 'SQLite gave up without a reason' : String(message), {
    cause: error,
  });
}

export function damaged(cause?: unknown): ClientError {
  return new ClientError('store_damaged', DAMAGED, { cause });
}

export function isDamage(error: unknown): error is ClientError {
  return error instanceof ClientError && error.code === 'store_damaged';
}
