import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';

/** Why a task could not be applied, as it travels between threads. */
export interface Failure {
  readonly kind: 'full' | 'engine' | 'bug';
  readonly message: string;
}

/** With less than this left, a write that was cut short was cut short by the lack of it. */
const FREE_BYTES_LOW = 16 * 2 ** 20;

export function failureOf(error: unknown, freeBytes: () => number): Failure {
  const message = error instanceof Error ? error.message : String(error);
  if (/MDB_MAP_FULL|No space left|Disk quota|File too large/i.test(message)) return { kind: 'full', message };
  // LMDB reports a write cut short as an input/output error, which is what a disk that fills up looks like.
  if (/Input\/output error/i.test(message) && freeBytes() < FREE_BYTES_LOW) return { kind: 'full', message };
  // LMDB and the system give their errors a number; ours have none.
  const isEngine = error instanceof Error && 'code' in error;
  return { kind: isEngine ? 'engine' : 'bug', message };
}

export function freeBytesAt(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(file));
  return bavail * bsize;
}
