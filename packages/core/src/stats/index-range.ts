import { pointer, Refusal, STAT_ROWS_MAX } from '@tidemark/protocol';

/** Both ends belong to it; negative ones count from the end: -1 is the last. */
export interface IndexRange {
  readonly start: number;
  readonly finish: number;
}

/** Bounds as a query string or a program gives them; absent ones mean the whole list. */
export function admitIndexRange(start: unknown, finish: unknown): IndexRange {
  return { start: admitIndex(start, 0, 'start'), finish: admitIndex(finish, -1, 'finish') };
}

/** The rows that must be read to know those in the range; only bounds from both ends need the whole list. */
export function rowsNeededFor({ start, finish }: IndexRange): { from: 'oldest' | 'newest'; limit: number } {
  if (start >= 0 && finish >= 0) return { from: 'oldest', limit: Math.min(finish + 1, STAT_ROWS_MAX) };
  if (start < 0 && finish < 0) return { from: 'newest', limit: Math.min(-start, STAT_ROWS_MAX) };
  return { from: 'newest', limit: STAT_ROWS_MAX };
}

/** The rows in the range. When only one end of the list was read, the bounds must both count from that end. */
export function sliceByIndex<T>(rows: readonly T[], { start, finish }: IndexRange): readonly T[] {
  const from = Math.max(0, start < 0 ? rows.length + start : start);
  const to = finish < 0 ? rows.length + finish : finish;
  return rows.slice(from, Math.max(from, to + 1));
}

function admitIndex(value: unknown, fallback: number, field: string): number {
  if (value === undefined || value === null) return fallback;
  const index = typeof value === 'string' && /^-?[0-9]{1,15}$/.test(value) ? Number(value) : value;
  // Adding zero turns minus zero into zero.
  if (typeof index === 'number' && Number.isSafeInteger(index)) return index + 0;
  const detail = 'must be a whole number';
  throw new Refusal('invalid_request', `${field} ${detail}`, [{ pointer: pointer(field), detail }]);
}
