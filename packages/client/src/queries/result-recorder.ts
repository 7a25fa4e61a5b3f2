import { type JsonValue, sameJson } from '@tidemark/protocol';
import {
  LAST_RESULTS_EVERY_MS,
  LAST_RESULTS_QUERIES_MAX,
  LAST_RESULTS_ROWS_MAX,
  LAST_RESULTS_UNITS_MAX,
} from '../limits.ts';
import type { Replica } from '../replica/replica.ts';
import { ownersOf } from '../state/group-rows.ts';
import { LAST_RESULTS } from '../state/last-results.ts';
import type { Transaction } from '../state/local-state.ts';
import type { SyncedObject } from '../view/source-view.ts';
import type { IndexedSource, LiveQuery } from './indexed-source.ts';

interface Row extends SyncedObject {
  readonly included?: Readonly<Record<string, SyncedObject | undefined | readonly SyncedObject[]>>;
}

/** Calls back after a time. Returns the function that prevents it. */
type After = (ms: number, callback: () => void) => () => void;

/**
 * Stores the objects that the live queries show, so that the next start can show them before everything is loaded. It
 * stores them as they are at the server; changes made here are uploads, which a start reads as well.
 */
export class ResultRecorder {
  readonly #replica: Replica;
  readonly #after: After;
  /** Live queries, also those that have ended since the last time, with the sources of their objects: their own first, then those that relations lead to. */
  readonly #queries = new Map<LiveQuery, readonly IndexedSource[]>();
  #cancel: (() => void) | null = null;
  #isClosed = false;

  constructor(replica: Replica, after: After) {
    this.#replica = replica;
    this.#after = after;
  }

  add(query: LiveQuery, sources: readonly IndexedSource[]): void {
    this.#queries.set(query, sources);
    this.recordSoon();
  }

  /** To be called when results may have changed. */
  recordSoon(): void {
    if (this.#isClosed) return;
    this.#cancel ??= this.#after(LAST_RESULTS_EVERY_MS, () => {
      this.#cancel = null;
      void this.#record();
    });
  }

  /** Stores what is shown now. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#cancel === null) return;
    this.#cancel();
    await this.#record();
  }

  /** A store that fails, or belongs to another tab, only makes the next start slower. */
  async #record(): Promise<void> {
    await this.#replica.transact((tx) => this.#put(tx), { isRepeatable: true }).catch(() => undefined);
  }

  #put(tx: Transaction): void {
    const results = this.#results(tx);
    if (results.length === 0) tx.delete('facts', LAST_RESULTS);
    else if (!sameJson(tx.get('facts', LAST_RESULTS), results)) tx.put('facts', LAST_RESULTS, results);
  }

  #results(tx: Transaction): JsonValue[] {
    const results = new Map<string, JsonValue>();
    let units = 0;
    const add = (first: string, id: string) => {
      if (tx.isOnDisk('objects', first)) return;
      const value = tx.get('objects', [first, id]);
      const name = JSON.stringify([first, id]);
      if (value === undefined || results.has(name)) return;
      units += name.length + JSON.stringify(value).length;
      if (units <= LAST_RESULTS_UNITS_MAX) results.set(name, [first, id, value as JsonValue]);
    };
    for (const query of this.#queries.keys()) if (!query.isLive) this.#queries.delete(query);
    for (const [query, sources] of [...this.#queries].slice(0, LAST_RESULTS_QUERIES_MAX)) {
      for (const row of query.getSnapshot().slice(0, LAST_RESULTS_ROWS_MAX) as readonly Row[]) {
        for (const [source, id] of objectsIn(row, sources)) {
          add(source, id);
          add(ownersOf(source), id);
        }
      }
    }
    return [...results.values()];
  }
}

/** Yields the keys of the object of a row and of those that it includes. */
function* objectsIn(
  { id, included = {} }: Row,
  [own, ...targets]: readonly IndexedSource[],
): Generator<readonly [source: string, id: string]> {
  if (own !== undefined) yield [own.name, id];
  for (const object of Object.values(included).flat()) {
    const source = targets.find(({ view }) => object !== undefined && view.get(object.id) === object);
    if (source !== undefined && object !== undefined) yield [source.name, object.id];
  }
}
