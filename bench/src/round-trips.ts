import type { Store } from '@tidemark/core';

/** Counts how many calls of a store had to wait for another one: on a server of its own, each is a round trip. */
export interface RoundTripCounter {
  readonly store: Store;
  /** The longest chain of calls since the last time, and how many calls there were. */
  take(): { readonly roundTrips: number; readonly calls: number };
}

/** Calls made before any answer came travel together; one made after an answer of the n-th round is of the next one. */
export function countRoundTrips(sound: Store): RoundTripCounter {
  let answered = 0;
  let calls = 0;
  const counted = (call: (...args: unknown[]) => unknown) =>
    function count(...args: unknown[]): unknown {
      const round = answered + 1;
      calls += 1;
      const result = call.apply(sound, args);
      if (result instanceof Promise) {
        result.then(
          () => {
            answered = Math.max(answered, round);
          },
          () => undefined,
        );
      }
      return result;
    };
  const store = new Proxy(sound, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? counted(value as (...args: unknown[]) => unknown) : value;
    },
  });
  return {
    store,
    take() {
      const taken = { roundTrips: answered, calls };
      answered = 0;
      calls = 0;
      return taken;
    },
  };
}
