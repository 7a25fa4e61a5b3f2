import { nameProblem, pointer, Refusal, type StatStep } from '@tidemark/protocol';
import type { StatRow, Store } from '../ports/store.ts';
import { mergeRows, PendingRows } from './pending-rows.ts';
import { admitIndexRange, admitPattern, matchesGlob, rowsNeededFor, sliceByIndex } from './query.ts';

export interface StatsPorts {
  readonly store: Store;
  /** How long rows are stored. */
  readonly retentionS?: number;
}

const RETENTION_S = 30 * 24 * 3_600;
const ROWS_PER_FLUSH = 1_000;

/**
 * Statistics in steps of a minute. Measurements are collected in memory, and `flush` writes them to the store. The server
 * calls `flush` and `trim` at intervals.
 */
export class Stats {
  readonly #store: Store;
  readonly #retentionS: number;
  readonly #pending = new PendingRows();
  /** The last read or flush. They run one after the other, because during a flush a row may be in memory or stored. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ store, retentionS = RETENTION_S }: StatsPorts) {
    this.#store = store;
    this.#retentionS = retentionS;
  }

  record(metric: string, value: number, nowMs: number): void {
    this.#pending.record(metric, value, nowMs);
  }

  /** The number of dropped measurements, which should be 0. */
  get dropped(): number {
    return this.#pending.dropped;
  }

  /** Writes the measurements to the store. Rows that fail to be written are kept for the next flush. */
  flush(): Promise<void> {
    return this.#inTurn(async () => {
      const rows = this.#pending.takeAll();
      for (let start = 0; start < rows.length; start += ROWS_PER_FLUSH) {
        try {
          await this.#store.addStats(rows.slice(start, start + ROWS_PER_FLUSH));
        } catch (error) {
          this.#pending.putBack(rows.slice(start));
          throw error;
        }
      }
    });
  }

  /** Returns the steps of a metric from index `start` to `finish`, oldest first; negative ones count from the end. */
  read(call: {
    readonly metric: unknown;
    readonly start?: unknown;
    readonly finish?: unknown;
  }): Promise<readonly StatStep[]> {
    return this.#inTurn(async () => {
      const range = admitIndexRange(call.start, call.finish);
      const metric = admitMetric(call.metric);
      const { from, limit } = rowsNeededFor(range);
      const stored = await this.#store.readStats(metric, from, limit);
      const rows = mergeRows([...stored, ...this.#pending.rowsOf(metric)]);
      if (rows.length === 0) throw notFound(metric);
      return sliceByIndex(rows, range).map(stepOf);
    });
  }

  /** Returns the metrics whose name matches the pattern, sorted. */
  names(pattern: unknown): Promise<readonly string[]> {
    return this.#inTurn(async () => {
      const admitted = admitPattern(pattern);
      const known = new Set([...(await this.#store.statNames()), ...this.#pending.metrics()]);
      return [...known].filter((metric) => matchesGlob(admitted, metric)).sort();
    });
  }

  /**
   * Deletes rows older than the retention, in bounded steps, while `mayGoOn` returns true before the next step. Returns the
   * number of deleted rows.
   */
  async trim(nowMs: number, mayGoOn: () => Promise<boolean> = async () => true): Promise<number> {
    const beforeS = Math.floor(nowMs / 1_000) - this.#retentionS;
    this.#pending.forgetIdle(beforeS);
    let gone = 0;
    for (;;) {
      const step = await this.#store.trimStats(beforeS);
      gone += step;
      if (step === 0 || !(await mayGoOn())) return gone;
    }
  }

  /** Drops the measurements that are not stored yet, for a reset. */
  clear(): void {
    this.#pending.clear();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return mine;
  }
}

/** A text that cannot be the name of a metric is reported as not found. */
function admitMetric(metric: unknown): string {
  if (typeof metric !== 'string') {
    const detail = 'must be a string';
    throw new Refusal('invalid_request', `metric ${detail}`, [{ pointer: pointer('metric'), detail }]);
  }
  if (nameProblem('attribute', metric) !== null) throw new Refusal('metric_not_found', 'there is no such metric');
  return metric;
}

function notFound(metric: string): Refusal {
  return new Refusal('metric_not_found', `there is no metric ${JSON.stringify(metric)}`);
}

function stepOf({ atS, count, sum, min, max }: StatRow): StatStep {
  return { at: atS, count, sum, min, max };
}
