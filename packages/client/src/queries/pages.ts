import { ClientError } from '../client-error.ts';
import { Listeners, type Observable } from '../view/observable.ts';
import { Subscribers } from '../view/subscribers.ts';
import type { Query } from './query.ts';

/** A long list that grows page by page. While it has subscribers it follows every change of the pages that it shows. */
export class Pages<T> implements Observable<readonly T[]> {
  readonly #size: number;
  readonly #queryOf: (limit: number) => Query<T>;
  readonly #listeners = new Listeners();
  #shown: number;
  #query: Query<T>;
  readonly #subscribers = new Subscribers(
    () => {
      this.#unsubscribe = this.#query.subscribe(() => this.#listeners.notify());
    },
    () => this.#unsubscribe(),
  );
  #unsubscribe: () => void = () => undefined;
  /** What it shows of a result of the query. */
  #cut: { readonly result: readonly T[]; readonly rows: readonly T[] } | null = null;
  #growing: Promise<void> | null = null;

  constructor(size: number, queryOf: (limit: number) => Query<T>) {
    if (!Number.isInteger(size) || size < 1) {
      throw new ClientError('invalid_request', `"size": expected a whole number from 1, got ${String(size)}`);
    }
    this.#size = size;
    this.#queryOf = queryOf;
    this.#shown = size;
    // One more than it shows tells whether another page follows.
    this.#query = queryOf(size + 1);
  }

  /** Returns the objects of all pages so far; the same list until one of them changes. */
  readonly getSnapshot = (): readonly T[] => {
    const result = this.#query.getSnapshot();
    if (this.#cut?.result !== result) {
      this.#cut = { result, rows: result.length > this.#shown ? Object.freeze(result.slice(0, this.#shown)) : result };
    }
    return this.#cut.rows;
  };

  readonly list = this.getSnapshot;

  readonly subscribe = (listener: () => void): (() => void) => this.#subscribers.add(this.#listeners, listener);

  /** True until the first page is there. */
  get isLoading(): boolean {
    return this.#query.isLoading;
  }

  /** True if another page follows. */
  get hasMore(): boolean {
    return this.#query.getSnapshot().length > this.#shown;
  }

  /** Shows one page more. Resolves when it is there. */
  more(): Promise<void> {
    this.#growing ??= this.#grow().finally(() => {
      this.#growing = null;
    });
    return this.#growing;
  }

  async #grow(): Promise<void> {
    await this.#query.fetch();
    if (!this.hasMore) return;
    const shown = this.#shown + this.#size;
    const query = this.#queryOf(shown + 1);
    const unsubscribe = query.subscribe(() => this.#listeners.notify());
    await query.fetch().catch((error: unknown) => {
      unsubscribe();
      throw error;
    });
    const before = this.#subscribers.areNone ? unsubscribe : this.#unsubscribe;
    this.#shown = shown;
    this.#query = query;
    this.#unsubscribe = unsubscribe;
    before();
    this.#listeners.notify();
  }
}
