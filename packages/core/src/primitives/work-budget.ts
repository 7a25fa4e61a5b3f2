import type { Pace } from '../ports/pace.ts';

/** Work between two pauses, in characters read or written. */
const BUDGET_UNITS = 250_000;
/** The cost of a name or a value in addition to its length. */
const ENTRY_UNITS = 64;

export const WITHOUT_PAUSE: Pace = { turn: async () => {} };

/** Counts the work since the last pause, so that long work can pause for the event loop. */
export class WorkBudget {
  #leftUnits = BUDGET_UNITS;

  /** Counts a name or a value of `units` characters. Returns true when it is time for a pause. */
  isSpent(units: number): boolean {
    this.#leftUnits -= units + ENTRY_UNITS;
    if (this.#leftUnits > 0) return false;
    this.#leftUnits = BUDGET_UNITS;
    return true;
  }
}
