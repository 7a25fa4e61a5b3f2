import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorMessage } from '@tidemark/protocol';

/** Why a task could not be applied, in a form that can be sent between threads. */
export interface Failure {
  readonly kind: 'full' | 'engine' | 'bug';
  readonly message: string;
}

/** With less free disk than this, a write that was cut short failed for lack of space. */
const FREE_BYTES_LOW = 16 * 2 ** 20;

export function failureOf(error: unknown, freeBytes: () => number): Failure {
  const message = errorMessage(error);
  if (/MDB_MAP_FULL|No space left|Disk quota|File too large/i.test(message)) return { kind: 'full', message };
  // LMDB reports a write that was cut short as an input/output error. On a full disk that means: no space left.
  if (/Input\/output error/i.test(message) && freeBytes() < FREE_BYTES_LOW) return { kind: 'full', message };
  // Errors of LMDB and of the system have a code, ours have none.
  const isEngine = error instanceof Error && 'code' in error;
  return { kind: isEngine ? 'engine' : 'bug', message };
}

export function freeBytesAt(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(file));
  return bavail * bsize;
}
