import { createHash } from 'node:crypto';
import { behind, keyOf, NUMBER_BYTES, NUMBER_MAX, readNumber } from '../keys.ts';
import type { Tables } from '../tables.ts';
import type { JobRow, StoredState } from './job-rows.ts';

/**
 * The keys of the table `jobIndex`. Every job has one key, by its state, and each order one for its head:
 *
 *   ready    [queue, 1, due time, number]       the first one is leased next, if its time has come
 *   leased   [queue, 2, end of lease, number]   the first ones are those whose lease has expired
 *   dead     [queue, 3, time of death, number]
 *   waiting  [queue, 4, order, number]          behind the head of their order; leasing does not read these
 *   head     [queue, 5, order] → number         the job of an order that is ready or leased
 *
 * The order is stored as a digest, because it may be longer than a key.
 */
const KINDS: Readonly<Record<StoredState | 'head', number>> = { ready: 1, leased: 2, dead: 3, waiting: 4, head: 5 };

export interface KeyRange {
  readonly start: Buffer;
  readonly end: Buffer;
}

export function jobKey(number: number, { queue, state, atMs, order }: JobRow): Buffer {
  if (state !== 'waiting') return keyOf(queue, KINDS[state], atMs, number);
  if (order === null) throw new Error('a job without an order cannot be waiting');
  return keyOf(queue, KINDS.waiting, orderDigest(order), number);
}

export function headKey(queue: string, order: string): Buffer {
  return keyOf(queue, KINDS.head, orderDigest(order));
}

function orderDigest(order: string): string {
  return createHash('sha256').update(order, 'utf8').digest('base64url');
}

/** Returns the range of all jobs in a state. With times: those from `fromMs` to `toMs`, both included. */
export function keysInState(queue: string, state: StoredState, fromMs = 0, toMs = NUMBER_MAX - 1): KeyRange {
  if (state === 'waiting') return allWithPrefix(keyOf(queue, KINDS.waiting));
  return { start: keyOf(queue, KINDS[state], fromMs), end: keyOf(queue, KINDS[state], toMs + 1) };
}

/** Returns the range of the jobs that wait behind the head of an order. */
export function waitersOf(queue: string, order: string): KeyRange {
  return allWithPrefix(keyOf(queue, KINDS.waiting, orderDigest(order)));
}

function allWithPrefix(start: Buffer): KeyRange {
  const end = behind(start);
  if (end === undefined) throw new Error('a key range has no end');
  return { start, end };
}

/** Returns the number of the first job of a range, or null. */
export function firstNumberIn(tables: Tables, range: KeyRange): number | null {
  for (const key of tables.jobIndex.getKeys({ ...range, limit: 1 })) return jobNumberIn(key);
  return null;
}

/** Returns the numbers of the first `limit` jobs of a range. */
export function firstNumbersIn(tables: Tables, range: KeyRange, limit: number): readonly number[] {
  return Array.from(tables.jobIndex.getKeys({ ...range, limit }), jobNumberIn);
}

export function jobNumberIn(key: Uint8Array): number {
  return readNumber(key, key.length - NUMBER_BYTES);
}

/** Returns the time in the key of a job that is not waiting. */
export function timeIn(key: Uint8Array): number {
  return readNumber(key, key.length - 2 * NUMBER_BYTES);
}

/** The kind follows the name of the queue, which contains no zero byte. */
export function isHeadKey(key: Buffer): boolean {
  return readNumber(key, key.indexOf(0) + 1) === KINDS.head;
}
