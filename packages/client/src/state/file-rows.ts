import type { PartialError } from '@tidemark/protocol';
import type { LocalKey } from '../ports/local-store.ts';
import type { Reader, Transaction } from './local-state.ts';

/** What the device has of a file. */
export interface FileRow {
  /** In bytes. */
  readonly size: number;
  readonly type: string;
  readonly name?: string;
  /** The entries with its bytes are named by this and their number. */
  readonly body: string;
  /** The bytes in each of these entries but the last one. Absent: `FILE_PIECE_BYTES`. */
  readonly entryBytes?: number;
  /** The bytes that are stored. Less than the size: a download that is not complete. */
  readonly bytes: number;
  /** Present while the server does not have the file: the time since when it waits. */
  readonly waitsSinceMs?: number;
  /** Why the upload has failed for good. */
  readonly error?: PartialError;
  /** When it was used last; the cache keeps what was used recently. */
  readonly usedAtMs: number;
}

/** The first part of the keys of files, among the facts; the second is the SHA-256. */
export const FILE = 'file';

/** The fact that says whether there may be bytes of files: `used`, or `clear` if all of them are to be deleted. */
export const FILES: LocalKey = ['', 'files'];

export function fileRow(reader: Reader, sha256: string): FileRow | undefined {
  return reader.get('facts', [FILE, sha256]) as unknown as FileRow | undefined;
}

export function fileRows(reader: Reader): Iterable<[string, FileRow]> {
  return reader.entries('facts', FILE) as unknown as Iterable<[string, FileRow]>;
}

export function putFileRow(tx: Transaction, sha256: string, row: FileRow): void {
  tx.put('facts', [FILE, sha256], { ...row });
}

/** Forgets all files. Their bytes are deleted afterwards. */
export function forgetFiles(tx: Transaction): void {
  for (const [sha256] of [...fileRows(tx)]) tx.delete('facts', [FILE, sha256]);
  if (tx.get('facts', FILES) !== undefined) tx.put('facts', FILES, 'clear');
}

/** Files made here that the server does not have. */
export function countUnsentFiles(reader: Reader): number {
  let count = 0;
  for (const [, row] of fileRows(reader)) if (row.waitsSinceMs !== undefined) count++;
  return count;
}
