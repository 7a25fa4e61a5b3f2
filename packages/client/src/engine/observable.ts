import { callListener } from '../state/replica.ts';

/** Something to look at and to follow; made for `useSyncExternalStore` and its cousins. */
export interface Observable<T> {
  /** The same value until something changes. */
  readonly getSnapshot: () => T;
  /** Returns the unsubscribe function. */
  readonly subscribe: (listener: () => void) => () => void;
}

export class Listeners<A extends readonly unknown[] = []> {
  readonly #listeners = new Set<(...args: A) => void>();

  readonly add = (listener: (...args: A) => void): (() => void) => {
    // Wrapped, so that one listener may be added twice and taken away once.
    const entry = (...args: A) => listener(...args);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  };

  tell(...args: A): void {
    for (const listener of [...this.#listeners]) callListener(() => listener(...args));
  }
}

/** A value that is made when somebody looks, and again after it was said to be stale. */
export class Derived<T> implements Observable<T> {
  readonly #make: () => T;
  readonly #listeners = new Listeners();
  readonly subscribe = this.#listeners.add;
  #value: { readonly it: T } | null = null;

  constructor(make: () => T) {
    this.#make = make;
  }

  readonly getSnapshot = (): T => {
    this.#value ??= { it: this.#make() };
    return this.#value.it;
  };

  spoil(): void {
    this.#value = null;
    this.#listeners.tell();
  }
}
