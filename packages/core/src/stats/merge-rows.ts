import type { StatRow } from '../ports/store.ts';

/** Rows of one metric, oldest first, each step once: counts and sums add up, extremes widen. */
export function mergeRows(rows: readonly StatRow[]): readonly StatRow[] {
  const bySteps = new Map<number, StatRow>();
  for (const row of rows) {
    const known = bySteps.get(row.atS);
    bySteps.set(row.atS, known === undefined ? row : merged(known, row));
  }
  return [...bySteps.values()].sort((left, right) => left.atS - right.atS);
}

function merged(left: StatRow, right: StatRow): StatRow {
  return {
    metric: left.metric,
    atS: left.atS,
    count: left.count + right.count,
    sum: left.sum + right.sum,
    min: Math.min(left.min, right.min),
    max: Math.max(left.max, right.max),
  };
}
