/**
 * Maps an async iterable lazily. A generator would do the same with several promises per step, which is slow for long
 * chains.
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
        // Ends the source when the consumer stops early.
        return: async () => {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
