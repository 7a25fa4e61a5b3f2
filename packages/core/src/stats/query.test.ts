import { Refusal } from '@tidemark/protocol';
import { Rng, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { admitIndexRange, matchesGlob, rowsNeededFor, sliceByIndex } from './query.ts';

/** Obviously right, and as slow as it likes. */
function oracle(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern.startsWith('*')) {
    return oracle(pattern.slice(1), text) || (text !== '' && oracle(pattern, text.slice(1)));
  }
  return text !== '' && pattern[0] === text[0] && oracle(pattern.slice(1), text.slice(1));
}

/** A text that counts the characters that are looked at in it. */
function countedText(real: string): { readonly text: string; readonly units: () => number } {
  let looked = 0;
  const text = {
    length: real.length,
    startsWith: (head: string) => {
      looked += head.length;
      return real.startsWith(head);
    },
    endsWith: (tail: string) => {
      looked += tail.length;
      return real.endsWith(tail);
    },
    indexOf: (piece: string, from: number) => {
      const at = real.indexOf(piece, from);
      looked += (at === -1 ? real.length : at + piece.length) - from;
      return at;
    },
  };
  // Whatever else the matcher should come to use is missing here, and makes the test fail instead of counting nothing.
  return { text: text as unknown as string, units: () => looked };
}

describe('matchesGlob', () => {
  it.each([
    ['sources:*:Product', 'sources:query:Product', true],
    ['sources:*:Product', 'sources:query:Products', false],
    ['*', '', true],
    ['*', 'anything', true],
    ['', '', true],
    ['', 'x', false],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['ab*ba', 'aba', false],
    ['**', 'x', true],
    ['*ab*ab*', 'ab', false],
    ['*ab*ab*', 'xabyabz', true],
    ['a.c', 'abc', false],
    ['[a]?', '[a]?', true],
    ['[a]', 'a', false],
    ['x\\*', 'x\\y', true],
  ])('[STATS-4] whether the pattern %j matches %j is %s', (pattern, text, expected) => {
    expect(matchesGlob(pattern, text)).toBe(expected);
    expect(oracle(pattern, text)).toBe(expected);
  });

  it('[STATS-4] the glob matcher agrees with a simple one on 50,000 random pairs', () => {
    const rng = new Rng(seededRandom(4));
    const textOf = (letters: string, most: number) =>
      Array.from({ length: rng.below(most + 1) }, () => rng.pick([...letters])).join('');
    let matches = 0;
    for (let round = 0; round < 50_000; round++) {
      const pattern = textOf('ab**', 8);
      const text = textOf('ab', 10);
      const expected = oracle(pattern, text);
      if (expected) matches += 1;
      if (matchesGlob(pattern, text) !== expected) throw new Error(`${pattern} on ${text} should be ${expected}`);
    }
    expect(matches).toBeGreaterThan(5_000);
  });

  it('[HARD-37] the glob matcher takes linear time for every pattern', () => {
    const text = 'a'.repeat(100_000);
    for (const pattern of [`${'*a'.repeat(8)}*b`, `${'*a'.repeat(8)}*b*`, `${'*ab'.repeat(8)}*`, '*'.repeat(9)]) {
      const counted = countedText(text);
      expect(matchesGlob(pattern, counted.text)).toBe(pattern === '*'.repeat(9));
      expect(counted.units()).toBeLessThanOrEqual(text.length + pattern.length);
    }
  });
});

function verdict(start: unknown, finish?: unknown): unknown {
  try {
    return admitIndexRange(start, finish);
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

describe('index range', () => {
  it('[STATS-2] bounds are whole numbers, also as text, and without bounds the whole list is meant', () => {
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
  ])('[STATS-2] the bound %j is refused', (bound) => {
    expect(verdict(bound)).toBe('invalid_request');
    expect(verdict(0, bound)).toBe('invalid_request');
  });

  it('[STATS-1] a range reads only the rows it needs, and returns the same as slicing the whole list', () => {
    const rng = new Rng(seededRandom(5));
    for (let round = 0; round < 20_000; round++) {
      const list = Array.from({ length: rng.below(8) }, (_, index) => index);
      const range = { start: rng.between(-10, 10), finish: rng.between(-10, 10) };
      const { from, limit } = rowsNeededFor(range);
      const read = from === 'oldest' ? list.slice(0, limit) : list.slice(Math.max(0, list.length - limit));
      const place = (index: number) => (index < 0 ? list.length + index : index);
      const expected = list.filter((index) => index >= place(range.start) && index <= place(range.finish));
      expect({ range, list, got: sliceByIndex(read, range) }).toEqual({ range, list, got: expected });
    }
  });
});
