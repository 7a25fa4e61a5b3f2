import { nameProblem, pointer, Refusal, type StatStep } from '@tidemark/protocol';
import type { StatRow, Store } from '../ports/store.ts';
import { mergeRows, PendingRows } from './pending-rows.ts';
import { admitIndexRange, admitPattern, matchesGlob, rowsNeededFor, sliceByIndex } from './query.ts';

export interface StatsPorts {
  readonly store: Store;
  /** How long rows are kept. */
  readonly retentionS?: number;
}

const RETENTION_S = 30 * 24 * 3_600;
const ROWS_PER_FLUSH = 1_000;

/**
 * What happened how often, in steps of a minute. Recording is a matter of memory; `flush` carries it into the store.
 * There are no timers here: whoever runs the server calls `flush` and `trim` from time to time.
 */
export class Stats {
  readonly #store: Store;
  readonly #retentionS: number;
  readonly #pending = new PendingRows();
  /** Readers and flushes take turns: in the middle of a flush, a row is neither surely here nor surely there. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ store, retentionS = RETENTION_S }: StatsPorts) {
    this.#store = store;
    this.#retentionS = retentionS;
  }

  record(metric: string, value: number, nowMs: number): void {
    this.#pending.record(metric, value, nowMs);
  }

  /** Measurements lost because of a bound; it should be 0. */
  get dropped(): number {
    return this.#pending.dropped;
  }

  /** What the store does not take stays here for the next time. */
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

  /** The steps of a metric by their place in its list, oldest first; both bounds included, negative from the end. */
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

  /** Metrics whose name matches the pattern, sorted. */
  names(pattern: unknown): Promise<readonly string[]> {
    return this.#inTurn(async () => {
      const admitted = admitPattern(pattern);
      const known = new Set([...(await this.#store.statNames()), ...this.#pending.metrics()]);
      return [...known].filter((metric) => matchesGlob(admitted, metric)).sort();
    });
  }

  /**
   * Forgets all that is older than the retention, in bounded steps, as long as `mayGoOn` says so before the next step;
   * answers how many rows went.
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

  /** Forgets what is not in the store yet: for a reset, which empties the store itself. */
  clear(): void {
    this.#pending.clear();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return mine;
  }
}

/** A text that can be no name of a metric is the name of none, whatever it is. */
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
