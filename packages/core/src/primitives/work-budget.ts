import type { Pace } from '../ports/pace.ts';

/** Work done before others get their turn, in characters looked at or written. */
const STRIDE_UNITS = 250_000;
/** What looking at a name or a value costs beside its length. */
const ENTRY_UNITS = 64;

export const WITHOUT_PAUSE: Pace = { turn: async () => {} };

/** Measures long work, so that whoever does it knows when others should get their turn. */
export class WorkBudget {
  #leftUnits = STRIDE_UNITS;

  /** Counts a name or a value of so many characters. True: it is time for a pause. */
  isSpent(units: number): boolean {
    this.#leftUnits -= units + ENTRY_UNITS;
    if (this.#leftUnits > 0) return false;
    this.#leftUnits = STRIDE_UNITS;
    return true;
  }
}
