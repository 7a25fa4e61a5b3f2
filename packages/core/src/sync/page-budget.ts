import type { PageBounds } from '../pages/pull.ts';

/**
 * Divides what one answer may hold among the sources that have something to tell: each gets an equal part of what is
 * left, and what it does not use goes to those behind it. Everybody gets at least one object, so everybody goes on.
 */
export class PageBudget {
  #entriesLeft: number;
  #unitsLeft: number;
  #waiting: number;

  constructor({ entriesMax, unitsMax }: PageBounds, sharers: number) {
    this.#entriesLeft = entriesMax;
    this.#unitsLeft = unitsMax;
    this.#waiting = sharers;
  }

  next(): PageBounds {
    const sharers = Math.max(1, this.#waiting);
    return {
      entriesMax: Math.max(1, Math.floor(this.#entriesLeft / sharers)),
      unitsMax: Math.max(1, Math.floor(this.#unitsLeft / sharers)),
    };
  }

  used({ entries, units }: { readonly entries: number; readonly units: number }): void {
    this.#entriesLeft = Math.max(0, this.#entriesLeft - entries);
    this.#unitsLeft = Math.max(0, this.#unitsLeft - units);
    this.#waiting -= 1;
  }
}
