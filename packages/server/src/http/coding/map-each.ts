/**
 * Each thing changed on its way, one when one is asked for. A generator would do; it makes several promises for each
 * step, and a stream of large pieces is a chain of these.
 */
export function mapEach<T, U>(things: AsyncIterable<T>, change: (thing: T) => U): AsyncIterable<U> {
  return {
    [Symbol.asyncIterator]: () => {
      const iterator = things[Symbol.asyncIterator]();
      return {
        next: async () => {
          const step = await iterator.next();
          return step.done === true ? { done: true, value: undefined } : { done: false, value: change(step.value) };
        },
        // Whoever stops early tells the one before.
        return: async () => {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
