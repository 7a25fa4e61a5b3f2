import { METRICS_MAX, nameProblem, STAT_ROWS_PENDING_MAX } from '@tidemark/protocol';
import { mergedStats } from '../ports/store/stats.ts';
import type { StatRow } from '../ports/store.ts';

const STEP_S = 60;
const STEP_MS = STEP_S * 1_000;

/** The current step of a metric. It is reused when it is emptied, so that recording does not allocate. */
interface OpenStep {
  atS: number;
  count: number;
  sum: number;
  min: number;
  max: number;
}

/** Measurements that are not in the store yet. The numbers of metrics and rows are bounded. */
export class PendingRows {
  readonly #open = new Map<string, OpenStep>();
  #closed: StatRow[] = [];
  #dropped = 0;

  /** Measurements and rows that were dropped because a bound was reached. */
  get dropped(): number {
    return this.#dropped;
  }

  record(metric: string, value: number, nowMs: number): void {
    const step = this.#open.get(metric) ?? this.#begin(metric);
    if (step === null || !Number.isFinite(value)) {
      this.#dropped += 1;
      return;
    }
    const atS = Math.floor(nowMs / STEP_MS) * STEP_S;
    if (step.atS !== atS) this.#close(metric, step, atS);
    step.count += 1;
    step.sum += value;
    if (value < step.min) step.min = value;
    if (value > step.max) step.max = value;
  }

  /** Removes and returns all rows. The caller must put back the rows that the store did not accept. */
  takeAll(): readonly StatRow[] {
    for (const [metric, step] of this.#open) this.#close(metric, step, step.atS);
    const rows = this.#closed;
    this.#closed = [];
    return rows;
  }

  putBack(rows: readonly StatRow[]): void {
    const all = [...rows, ...this.#closed];
    this.#dropped += Math.max(0, all.length - STAT_ROWS_PENDING_MAX);
    this.#closed = all.slice(0, STAT_ROWS_PENDING_MAX);
  }

  rowsOf(metric: string): readonly StatRow[] {
    const rows = this.#closed.filter((row) => row.metric === metric);
    const step = this.#open.get(metric);
    return step === undefined || step.count === 0 ? rows : [...rows, { metric, ...step }];
  }

  metrics(): readonly string[] {
    const open = [...this.#open].filter(([, step]) => step.count > 0).map(([metric]) => metric);
    return [...open, ...this.#closed.map(({ metric }) => metric)];
  }

  /** Forgets metrics that were not recorded since `beforeS`. */
  forgetIdle(beforeS: number): void {
    for (const [metric, step] of this.#open) {
      if (step.count === 0 && step.atS < beforeS) this.#open.delete(metric);
    }
  }

  clear(): void {
    this.#open.clear();
    this.#closed = [];
  }

  /** Returns null when there are too many metrics. */
  #begin(metric: string): OpenStep | null {
    // Metrics are named after sources and queues, whose names are shorter than an attribute name may be.
    if (this.#open.size >= METRICS_MAX || nameProblem('attribute', metric) !== null) return null;
    const step: OpenStep = { atS: 0, count: 0, sum: 0, min: Infinity, max: -Infinity };
    this.#open.set(metric, step);
    return step;
  }

  #close(metric: string, step: OpenStep, atS: number): void {
    if (step.count > 0 && this.#closed.length < STAT_ROWS_PENDING_MAX) this.#closed.push({ metric, ...step });
    else if (step.count > 0) this.#dropped += 1;
    step.atS = atS;
    step.count = 0;
    step.sum = 0;
    step.min = Infinity;
    step.max = -Infinity;
  }
}

/** Merges rows of one metric that belong to the same step. Returns them oldest first. */
export function mergeRows(rows: readonly StatRow[]): readonly StatRow[] {
  const bySteps = new Map<number, StatRow>();
  for (const row of rows) {
    const known = bySteps.get(row.atS);
    bySteps.set(row.atS, known === undefined ? row : { ...row, ...mergedStats(known, row) });
  }
  return [...bySteps.values()].sort((left, right) => left.atS - right.atS);
}
