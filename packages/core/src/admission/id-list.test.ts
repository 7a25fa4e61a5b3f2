import { Dice, seededRandom } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { IdList } from './id-list.ts';

const LETTERS = ['', '0', '1', '9', 'a', 'b', 'é', '\u{1f600}', '\uffff'];

/** Ids that meet each other often, in one of the orders that are known, in none, or in one that breaks somewhere. */
function idsFor(dice: Dice): readonly string[] {
  const ids = Array.from({ length: dice.between(0, 12) }, () => {
    return Array.from({ length: dice.between(1, 3) }, () => LETTERS[dice.between(0, LETTERS.length - 1)]).join('');
  });
  const kind = dice.between(0, 3);
  if (kind > 0) ids.sort();
  if (kind > 1) ids.sort((left, right) => left.length - right.length);
  return kind === 3 ? [...ids, ...ids.slice(0, 1), 'zz'] : ids;
}

it('[ANSWER-3] ids are found where they stand, and one that stands twice is noticed, whatever the order', () => {
  const dice = new Dice(seededRandom(5));
  for (let round = 0; round < 5_000; round++) {
    const given = idsFor(dice);
    const known = new Map([...new Set(given)].map((id, index) => [id, index]));
    const list = new IdList();
    // Whoever meets one that stands twice gives up.
    if (!given.every((id) => list.add(id))) {
      expect(known.size).toBeLessThan(given.length);
      continue;
    }
    expect(known.size).toBe(given.length);
    const ids = [...known.keys()];
    const asked = [...ids, ...LETTERS, ...ids.toReversed(), ...ids];
    for (const id of asked) expect([id, list.indexOf(id)]).toEqual([id, known.get(id)]);
    expect([list.size, ids.map((_, index) => list.at(index))]).toEqual([known.size, ids]);
  }
});

it('[ANSWER-3] numbers in their order, and texts in theirs, are found without an index', () => {
  for (const ids of [Array.from({ length: 300 }, (_, index) => `${index}`), ['1', '10', '2', '20', '3']]) {
    const list = new IdList();
    for (const id of ids) list.add(id);
    expect(ids.map((id) => list.indexOf(id))).toEqual(ids.map((_, index) => index));
    expect([list.indexOf('x'), list.indexOf('100000')]).toEqual([undefined, undefined]);
  }
});
