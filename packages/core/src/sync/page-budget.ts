import type { BuiltPage } from '../pages/build-page.ts';
import type { PageBounds } from '../pages/read-from-store.ts';

/**
 * Divides what one answer may hold among the partitions that have news. Each gets an equal share of what is left, and what
 * it does not use goes to the next ones. Each gets at least one object, so that all of them make progress.
 */
export class PageBudget {
  #entriesLeft: number;
  #unitsLeft: number;
  #pagesLeft: number;

  constructor({ entriesMax, unitsMax }: PageBounds, pages: number) {
    this.#entriesLeft = entriesMax;
    this.#unitsLeft = unitsMax;
    this.#pagesLeft = pages;
  }

  /** The bounds of the next page. */
  next(): PageBounds {
    const pages = Math.max(1, this.#pagesLeft);
    return {
      entriesMax: Math.max(1, Math.floor(this.#entriesLeft / pages)),
      unitsMax: Math.max(1, Math.floor(this.#unitsLeft / pages)),
    };
  }

  spend({ entries, body }: BuiltPage): void {
    this.#entriesLeft = Math.max(0, this.#entriesLeft - entries);
    this.#unitsLeft = Math.max(0, this.#unitsLeft - body.units);
    this.#pagesLeft -= 1;
  }
}
