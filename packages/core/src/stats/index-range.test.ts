import { Refusal } from '@tidemark/protocol';
import { Dice, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { admitIndexRange, rowsNeededFor, sliceByIndex } from './index-range.ts';

function verdict(start: unknown, finish?: unknown): unknown {
  try {
    return admitIndexRange(start, finish);
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

describe('index range', () => {
  it('[STATS-2] takes whole numbers, as text or not, and means the whole list when there are none', () => {
    expect(verdict(undefined, undefined)).toEqual({ start: 0, finish: -1 });
    expect(verdict(null, null)).toEqual({ start: 0, finish: -1 });
    expect(verdict('5', '-3')).toEqual({ start: 5, finish: -3 });
    expect(verdict(5, -3)).toEqual({ start: 5, finish: -3 });
    expect(verdict('-0', -0)).toEqual({ start: 0, finish: 0 });
    expect(verdict('007', '999999999999999')).toEqual({ start: 7, finish: 999_999_999_999_999 });
  });

  it.each([
    'abc',
    '1e9',
    '1.5',
    '',
    ' 1',
    '1 ',
    '+1',
    '--1',
    '0x10',
    '９',
    '1'.repeat(16),
    1.5,
    Number.NaN,
    Infinity,
    2 ** 53,
    true,
    [1],
    {},
  ])('[STATS-2] refuses %j', (bound) => {
    expect(verdict(bound)).toBe('invalid_request');
    expect(verdict(0, bound)).toBe('invalid_request');
  });

  it('[STATS-1] reads no more than is needed and gives what a list would give', () => {
    const dice = new Dice(seededRandom(5));
    for (let round = 0; round < 20_000; round++) {
      const list = Array.from({ length: dice.below(8) }, (_, index) => index);
      const range = { start: dice.between(-10, 10), finish: dice.between(-10, 10) };
      const { from, limit } = rowsNeededFor(range);
      const read = from === 'oldest' ? list.slice(0, limit) : list.slice(Math.max(0, list.length - limit));
      const place = (index: number) => (index < 0 ? list.length + index : index);
      const expected = list.filter((index) => index >= place(range.start) && index <= place(range.finish));
      expect({ range, list, got: sliceByIndex(read, range) }).toEqual({ range, list, got: expected });
    }
  });
});
