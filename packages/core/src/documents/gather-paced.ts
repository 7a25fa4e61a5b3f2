import type { Pace } from '../ports/pace.ts';
import type { Change } from '../ports/store.ts';
import { WorkBudget } from '../primitives/work-budget.ts';

/** All of the changes; others get their turn while they are made. */
export async function gatherPaced(changes: Iterable<Change>, pace: Pace): Promise<readonly Change[]> {
  const gathered: Change[] = [];
  const budget = new WorkBudget();
  for (const change of changes) {
    gathered.push(change);
    if (budget.isSpent(weightOf(change))) await pace.turn();
  }
  return gathered;
}

/** What making a change has cost, in characters. */
export function weightOf(change: Change | null): number {
  return change?.record?.length ?? 0;
}
