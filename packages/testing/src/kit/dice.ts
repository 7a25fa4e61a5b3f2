import type { Random } from '@tidemark/core';

/** What random tests ask of a `Random`: whole numbers, choices and chances. */
export class Dice {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** A whole number from 0 to `below` − 1. The slight unevenness of the remainder does not matter to a test. */
  below(below: number): number {
    const [a = 0, b = 0, c = 0, d = 0] = this.#random.bytes(4);
    return (((a << 24) | (b << 16) | (c << 8) | d) >>> 0) % below;
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new Error('there is nothing to pick from');
    return choice;
  }

  /** The same items in another order. */
  shuffle<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, rank: this.below(2 ** 32) }))
      .sort((left, right) => left.rank - right.rank)
      .map(({ item }) => item);
  }
}
