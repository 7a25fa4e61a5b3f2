type Settled = { readonly value: unknown } | { readonly error: unknown };

const settled = new WeakMap<Promise<unknown>, Settled | null>();

/** Returns the value of a promise that was fulfilled; otherwise it suspends the component, as React 18 and 19 know it. */
export function readPromise<T>(promise: Promise<T>): T {
  const known = settled.get(promise);
  if (known === undefined) {
    settled.set(promise, null);
    promise.then(
      (value) => settled.set(promise, { value }),
      (error: unknown) => settled.set(promise, { error }),
    );
  }
  if (known === undefined || known === null) throw promise;
  if ('error' in known) throw known.error;
  return known.value as T;
}
