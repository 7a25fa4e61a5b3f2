import type { Random } from '@tidemark/core';

/** Draws whole numbers, choices and chances from a `Random`. */
export class Rng {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns a whole number from 0 to `below` − 1. The remainder makes them slightly uneven, which no test minds. */
  below(below: number): number {
    const [a = 0, b = 0, c = 0, d = 0] = this.#random.bytes(4);
    return (((a << 24) | (b << 16) | (c << 8) | d) >>> 0) % below;
  }

  /** Returns a whole number from `least` to `most`, both included. */
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

  /** Picks one of the choices; each is as likely as its weight says. */
  weighted<T>(choices: readonly (readonly [choice: T, weight: number])[]): T {
    let left = this.below(choices.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [choice, weight] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    throw new Error('there is nothing to pick from');
  }

  /** Returns the same items in another order. */
  shuffle<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, rank: this.below(2 ** 32) }))
      .sort((left, right) => left.rank - right.rank)
      .map(({ item }) => item);
  }
}
