import { mergedStats, type StatRow } from '@tidemark/core';

type Rows = Map<string, Map<number, StatRow>>;

export function addStatRow(rows: Rows, row: StatRow): void {
  const steps = rows.get(row.metric) ?? new Map<number, StatRow>();
  rows.set(row.metric, steps);
  const old = steps.get(row.atS);
  steps.set(row.atS, old === undefined ? { ...row } : { ...row, ...mergedStats(old, row) });
}

export function readStatRows(rows: Rows, metric: string, from: 'oldest' | 'newest', limit: number): StatRow[] {
  const all = [...(rows.get(metric)?.values() ?? [])].sort((left, right) => left.atS - right.atS);
  return from === 'oldest' ? all.slice(0, limit) : all.slice(Math.max(0, all.length - limit));
}

/** Removes at most `rowsMax` rows from before `beforeS`, and metrics without rows. */
export function trimStatRows(rows: Rows, beforeS: number, rowsMax: number): number {
  const old = [...rows.values()].flatMap((steps) => [...steps.values()]).filter(({ atS }) => atS < beforeS);
  const going = old.sort((left, right) => left.atS - right.atS).slice(0, rowsMax);
  for (const { metric, atS } of going) {
    const steps = rows.get(metric);
    steps?.delete(atS);
    if (steps?.size === 0) rows.delete(metric);
  }
  return going.length;
}
