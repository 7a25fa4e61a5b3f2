import type { Listeners } from './observable.ts';

/** Counts those who listen: the first one begins the work behind what they listen to, and the last one ends it. */
export class Subscribers {
  readonly #begin: () => void;
  readonly #end: () => void;
  #count = 0;

  constructor(begin: () => void, end: () => void) {
    this.#begin = begin;
    this.#end = end;
  }

  get areNone(): boolean {
    return this.#count === 0;
  }

  /** Adds a listener. Returns the unsubscribe function. */
  add(listeners: Listeners, listener: () => void): () => void {
    if (this.areNone) this.#begin();
    this.#count++;
    const remove = listeners.add(listener);
    let isSubscribed = true;
    return () => {
      remove();
      if (isSubscribed && --this.#count === 0) this.#end();
      isSubscribed = false;
    };
  }
}
