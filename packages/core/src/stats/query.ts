import { GLOB_STARS_MAX, GLOB_UNITS_MAX, pointer, Refusal, STAT_ROWS_MAX } from '@tidemark/protocol';

/** Checks a pattern for the names of metrics. */
export function admitPattern(pattern: unknown): string {
  if (typeof pattern !== 'string') throw refuse('invalid_request', 'must be a string');
  if (pattern.length > GLOB_UNITS_MAX)
    throw refuse('invalid_value', `must not be longer than ${GLOB_UNITS_MAX} characters`);
  if (pattern.split('*').length - 1 > GLOB_STARS_MAX) {
    throw refuse('invalid_value', `must not have more than ${GLOB_STARS_MAX} stars`);
  }
  return pattern;
}

function refuse(code: 'invalid_request' | 'invalid_value', detail: string): Refusal {
  return new Refusal(code, `names ${detail}`, [{ pointer: pointer('names'), detail }]);
}

/**
 * Whether a text matches a pattern in which `*` stands for any number of characters. Each piece between two stars is
 * matched at its leftmost position, which needs no backtracking, so the time is linear in the length of the text.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return text === head;
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
  const end = text.length - tail.length;
  let from = head.length;
  for (const piece of rest) {
    const at = text.indexOf(piece, from);
    if (at === -1 || at + piece.length > end) return false;
    from = at + piece.length;
  }
  return true;
}

/** A range of indexes, both ends included. Negative indexes count from the end: -1 is the last. */
export interface IndexRange {
  readonly start: number;
  readonly finish: number;
}

/** Checks the bounds of a range. Absent ones mean the whole list. */
export function admitIndexRange(start: unknown, finish: unknown): IndexRange {
  return { start: admitIndex(start, 0, 'start'), finish: admitIndex(finish, -1, 'finish') };
}

/** Returns which rows must be read for a range. Bounds that count from different ends need the whole list. */
export function rowsNeededFor({ start, finish }: IndexRange): { from: 'oldest' | 'newest'; limit: number } {
  if (start >= 0 && finish >= 0) return { from: 'oldest', limit: Math.min(finish + 1, STAT_ROWS_MAX) };
  if (start < 0 && finish < 0) return { from: 'newest', limit: Math.min(-start, STAT_ROWS_MAX) };
  return { from: 'newest', limit: STAT_ROWS_MAX };
}

/** Returns the rows in the range. When only one end of the list was read, both bounds must count from that end. */
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
