import { Rng, seededRandom } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { SortedList } from './sorted-list.ts';

/** The same items in another order. */
const mixed = (items: readonly number[]) => items.map((_, index) => items[(index * 7_919) % items.length] as number);

it('[QUERY-6] a sorted list of many chunks holds what a sorted array would hold', () => {
  const rng = new Rng(seededRandom(3));
  const list = new SortedList<number, string>((left, right) => left - right, String);
  let naive = Array.from({ length: 1_500 }, (_, index) => index * 3);
  list.fill(mixed(naive));
  const check = () => {
    expect(list.size).toBe(naive.length);
    const [from, to] = [rng.below(naive.length + 2), rng.below(naive.length + 2)];
    expect(list.rows(from, to)).toEqual(naive.slice(from, Math.max(from, to)).map(String));
    const item = rng.below(5_000);
    expect(list.rank((other) => other >= item)).toBe(naive.filter((other) => other < item).length);
    expect(list.at(from)).toBe(naive[from]);
  };
  // It grows by a thousand, so that chunks are split, and then shrinks to nothing, so that chunks vanish.
  for (let step = 0; step < 1_500; step++) {
    const item = rng.below(5_000);
    if (!naive.includes(item)) {
      list.insert(item);
      naive = [...naive, item].sort((left, right) => left - right);
    } else expect(list.replace(item)).toBe(true);
    if (step % 200 === 0) check();
  }
  while (naive.length > 0) {
    const item = rng.pick(naive);
    expect(list.remove(item)).toBe(true);
    expect(list.remove(item)).toBe(false);
    naive = naive.filter((other) => other !== item);
    if (naive.length % 300 === 0) check();
  }
  expect([list.size, list.rows(0, 5), list.at(0), list.replace(1)]).toEqual([0, [], undefined, false]);
});

it('[QUERY-9] the first rows of many items are found without sorting all of them', () => {
  const sorted = Array.from({ length: 20_000 }, (_, index) => index);
  let comparisons = 0;
  const compare = (left: number, right: number) => {
    comparisons++;
    return left - right;
  };
  const comparisonsFor = (items: number[], use: (list: SortedList<number>) => void) => {
    const list = new SortedList<number>(compare, (item) => item);
    comparisons = 0;
    list.fill(items);
    use(list);
    return comparisons / items.length;
  };
  const firstRows = (list: SortedList<number>) => expect(list.rows(0, 50)).toEqual(sorted.slice(0, 50));
  const places = (list: SortedList<number>) => expect(list.rank((item) => item >= 10_000)).toBe(10_000);
  expect(comparisonsFor(mixed(sorted), firstRows)).toBeLessThan(3);
  expect(comparisonsFor([...sorted].reverse(), firstRows)).toBeLessThan(3);
  expect(comparisonsFor(mixed(sorted), places)).toBeLessThan(4);
  expect(comparisonsFor([...sorted], firstRows)).toBeLessThan(3);
});

it('[QUERY-6] items that are inserted while only some in the middle are sorted are at their places when all are', () => {
  const list = new SortedList<number>(
    (left, right) => left - right,
    (item) => item,
  );
  const all = Array.from({ length: 8_000 }, (_, index) => index);
  list.fill(mixed(all.filter((item) => item % 2 === 0)));
  expect(list.rows(2_000, 2_003)).toEqual([4_000, 4_002, 4_004]);
  for (const item of mixed(all.filter((one) => one % 2 === 1))) list.insert(item);
  expect(list.rows(0, all.length)).toEqual(all);
});
