import { Dice, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { matchesGlob } from './matches-glob.ts';

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
  ])('[STATS-4] %j on %j is %s', (pattern, text, expected) => {
    expect(matchesGlob(pattern, text)).toBe(expected);
    expect(oracle(pattern, text)).toBe(expected);
  });

  it('[STATS-4] agrees with the obvious matcher on 50,000 random pairs', () => {
    const dice = new Dice(seededRandom(4));
    const textOf = (letters: string, most: number) =>
      Array.from({ length: dice.below(most + 1) }, () => dice.pick([...letters])).join('');
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

  it('[HARD-37] passes over a text once, whatever the pattern', () => {
    const text = 'a'.repeat(100_000);
    for (const pattern of [`${'*a'.repeat(8)}*b`, `${'*a'.repeat(8)}*b*`, `${'*ab'.repeat(8)}*`, '*'.repeat(9)]) {
      const counted = countedText(text);
      expect(matchesGlob(pattern, counted.text)).toBe(pattern === '*'.repeat(9));
      expect(counted.units()).toBeLessThanOrEqual(text.length + pattern.length);
    }
  });
});
