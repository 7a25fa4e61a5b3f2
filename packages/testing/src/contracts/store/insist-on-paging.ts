import assert from 'node:assert/strict';

/** Walks a listing in steps of several lengths; every step must be full, in order, and go on where the last one ended. */
export async function insistOnPaging<T>(
  all: readonly T[],
  read: (last: T | undefined, limit: number) => Promise<readonly T[]>,
): Promise<void> {
  for (const limit of [1, 2, 3, 7, all.length, all.length + 1]) {
    for (let from = 0; from < all.length + limit; from += limit) {
      assert.deepEqual(await read(all.slice(0, from).at(-1), limit), all.slice(from, from + limit));
    }
  }
}
