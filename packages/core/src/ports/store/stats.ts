/** Statistics: sums by metric and time step. */
export interface StatsStore {
  /** Merges rows into the stored ones: counts and sums are added, minimum and maximum extended. */
  addStats(rows: readonly StatRow[]): Promise<void>;
  /** Returns up to `limit` rows of a metric from the given end, oldest first. */
  readStats(metric: string, from: 'oldest' | 'newest', limit: number): Promise<readonly StatRow[]>;
  /** Returns all metrics that have rows, sorted. */
  statNames(): Promise<readonly string[]>;
  /** Deletes rows older than `beforeS`, a bounded number per call. Returns how many. */
  trimStats(beforeS: number): Promise<number>;
}

export interface StatRow extends StatSums {
  readonly metric: string;
  /** The start of the step, in seconds. */
  readonly atS: number;
}

export interface StatSums {
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

/** Merges the measurements of one step. */
export function mergedStats(left: StatSums, right: StatSums): StatSums {
  return {
    count: left.count + right.count,
    sum: left.sum + right.sum,
    min: Math.min(left.min, right.min),
    max: Math.max(left.max, right.max),
  };
}
