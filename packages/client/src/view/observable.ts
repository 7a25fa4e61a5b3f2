/** A value that can be read and observed, compatible with `useSyncExternalStore`. */
export interface Observable<T> {
  /** Returns the same value until something changes. */
  readonly getSnapshot: () => T;
  /** Returns the unsubscribe function. */
  readonly subscribe: (listener: () => void) => () => void;
}

export class Listeners<A extends readonly unknown[] = []> {
  readonly #listeners = new Set<(...args: A) => void>();

  readonly add = (listener: (...args: A) => void): (() => void) => {
    // Wrapped, so that a listener can be added twice and removed once.
    const entry = (...args: A) => listener(...args);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  };

  notify(...args: A): void {
    for (const listener of [...this.#listeners]) callListener(() => listener(...args));
  }
}

/** A value that is computed when it is read, and again after it was invalidated. */
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

  invalidate(): void {
    this.#value = null;
    this.#listeners.notify();
  }
}

/** An error of a listener is a bug of the app and must not affect the device. */
export function callListener(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
