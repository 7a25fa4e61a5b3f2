import { createHash } from 'node:crypto';
import { behind, keyOf, NUMBER_BYTES, NUMBER_MAX, readNumber } from '../keys.ts';
import type { Tables } from '../tables.ts';
import type { KeptJob, Standing } from './kept-job.ts';

/**
 * Every job stands in one place, and the places of a queue are sorted by what is asked of them:
 *
 *   ready    [queue, 1, due time, number]      the first one is the next to lease, if its time has come
 *   leased   [queue, 2, end of lease, number]  the first ones are those whose lease has run out
 *   dead     [queue, 3, time of death, number]
 *   waiting  [queue, 4, line, number]          behind the head of their line; nobody who leases passes by here
 *   head     [queue, 5, line] → number         who of an order is ready or leased
 *
 * A line is the digest of an order: orders may be longer than a key.
 */
const KINDS: Readonly<Record<Standing | 'head', number>> = { ready: 1, leased: 2, dead: 3, waiting: 4, head: 5 };

export interface PlaceRange {
  readonly start: Buffer;
  readonly end: Buffer;
}

export function placeOf(number: number, { queue, standing, atMs, order }: KeptJob): Buffer {
  if (standing !== 'waiting') return keyOf(queue, KINDS[standing], atMs, number);
  if (order === null) throw new Error('a job without an order waits for nobody');
  return keyOf(queue, KINDS.waiting, lineOf(order), number);
}

export function headPlace(queue: string, order: string): Buffer {
  return keyOf(queue, KINDS.head, lineOf(order));
}

function lineOf(order: string): string {
  return createHash('sha256').update(order, 'utf8').digest('base64url');
}

/** The places of a standing. With times: those from `fromMs` to `toMs`, both included. */
export function placesOf(queue: string, standing: Standing, fromMs = 0, toMs = NUMBER_MAX - 1): PlaceRange {
  if (standing === 'waiting') return allBehind(keyOf(queue, KINDS.waiting));
  return { start: keyOf(queue, KINDS[standing], fromMs), end: keyOf(queue, KINDS[standing], toMs + 1) };
}

export function lineBehind(queue: string, order: string): PlaceRange {
  return allBehind(keyOf(queue, KINDS.waiting, lineOf(order)));
}

function allBehind(start: Buffer): PlaceRange {
  const end = behind(start);
  if (end === undefined) throw new Error('a place has no end');
  return { start, end };
}

/** The number of the job that stands first in a range, or null. */
export function firstIn(tables: Tables, range: PlaceRange): number | null {
  for (const key of tables.jobPlaces.getKeys({ ...range, limit: 1 })) return numberAt(key);
  return null;
}

/** The same of so many. */
export function firstOnesIn(tables: Tables, range: PlaceRange, limit: number): readonly number[] {
  return Array.from(tables.jobPlaces.getKeys({ ...range, limit }), numberAt);
}

export function numberAt(key: Uint8Array): number {
  return readNumber(key, key.length - NUMBER_BYTES);
}

/** The time in the place of a job that does not wait. */
export function timeAt(key: Uint8Array): number {
  return readNumber(key, key.length - 2 * NUMBER_BYTES);
}

/** The kind stands behind the name of the queue, and no name contains the byte that ends it. */
export function isHeadPlace(key: Buffer): boolean {
  return readNumber(key, key.indexOf(0) + 1) === KINDS.head;
}
