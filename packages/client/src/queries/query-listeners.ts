import { Listeners, type Observable } from '../view/observable.ts';
import { Subscribers } from '../view/subscribers.ts';

/** What a query shows now. The rows are another list after each change of the result. */
export interface Shown {
  readonly rows: readonly unknown[];
  readonly total: number;
}

/** Those who listen to the rows of a query or to its total. They are told what differs from what they were told last. */
export class QueryListeners {
  readonly #ofRows = new Listeners();
  readonly #ofTotal = new Listeners();
  readonly #subscribers: Subscribers;
  #sent: Shown = { rows: [], total: 0 };

  /** The first listener begins to follow the query, the last one ends that. */
  constructor(begin: () => void, end: () => void) {
    this.#subscribers = new Subscribers(begin, end);
  }

  get areNone(): boolean {
    return this.#subscribers.areNone;
  }

  readonly addToRows = (listener: () => void): (() => void) => this.#subscribers.add(this.#ofRows, listener);

  readonly addToTotal = (listener: () => void): (() => void) => this.#subscribers.add(this.#ofTotal, listener);

  /** The total, to subscribe to. */
  total(getSnapshot: () => number): Observable<number> {
    return { getSnapshot, subscribe: this.addToTotal };
  }

  /** Takes what is shown for told, because whoever begins to listen reads it. */
  noteRead(shown: Shown): void {
    this.#sent = shown;
  }

  /** Tells those whose rows or total have changed. */
  notify(shown: Shown): void {
    const before = this.#sent;
    // First, because a listener may subscribe others.
    this.#sent = shown;
    if (shown.rows !== before.rows) this.#ofRows.notify();
    if (shown.total !== before.total) this.#ofTotal.notify();
  }
}
