/** Statistics: sums by metric and time step. */
export interface StatsStore {
  /** Merges rows into what is there: counts and sums add up, extremes widen. */
  addStats(rows: readonly StatRow[]): Promise<void>;
  /** Rows of a metric, `limit` of them counted from the given end; always answered oldest first. */
  readStats(metric: string, from: 'oldest' | 'newest', limit: number): Promise<readonly StatRow[]>;
  /** Every metric that has rows, sorted. */
  statNames(): Promise<readonly string[]>;
  /** Forgets rows older than `beforeS`, a bounded number per call; answers how many went. */
  trimStats(beforeS: number): Promise<number>;
}

export interface StatRow {
  readonly metric: string;
  /** Begin of the resolution step, in seconds. */
  readonly atS: number;
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}
