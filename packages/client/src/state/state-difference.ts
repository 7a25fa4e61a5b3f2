import { type JsonValue, sameJson } from '@tidemark/protocol';
import type { LocalRow, LocalWrite } from '../ports/local-store.ts';
import { inSteps, type Pause } from './in-steps.ts';
import { inOrder, type LocalState } from './local-state.ts';
import { RowMap } from './row-map.ts';

/** Collects the writes that make a state equal to rows, which come in parts. The state must not change meanwhile. */
export class StateDifference {
  readonly #state: LocalState;
  /** The rows of the state that have come. */
  readonly #kept = new RowMap<true>();
  readonly #writes: LocalWrite[] = [];
  #rowCount = 0;

  constructor(state: LocalState) {
    this.#state = state;
  }

  /** How many rows have come. */
  get rowCount(): number {
    return this.#rowCount;
  }

  take(rows: readonly LocalRow[]): void {
    this.#rowCount += rows.length;
    for (const { table, key, value } of rows) {
      const known = this.#state.get(table, key) as JsonValue | undefined;
      if (known !== undefined) this.#kept.set(table, key, true);
      if (!sameJson(known, value)) this.#writes.push({ table, key, value });
    }
  }

  /** Returns the writes when all rows have come. */
  async finish(pause: Pause, isWanted: () => boolean): Promise<readonly LocalWrite[]> {
    const stored = this.#state.snapshot();
    const findGone = (from: number, to: number) => {
      for (const { table, key } of stored.slice(from, to)) {
        if (this.#kept.get(table, key) === undefined) this.#writes.push({ table, key });
      }
    };
    await inSteps(stored.count, pause, findGone, isWanted);
    return inOrder(this.#writes);
  }
}
