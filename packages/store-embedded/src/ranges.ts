import type { Database, Key } from 'lmdb';

/** Keys held in memory at a time while a range is removed. */
const REMOVE_CHUNK = 10_000;

/** Removes all keys from `start` up to, not including, `end`. Runs in the writer's transaction. */
export function removeRange<K extends Key>(table: Database<unknown, K>, start: K, end: K): void {
  for (;;) {
    const keys = [...table.getKeys({ start, end, limit: REMOVE_CHUNK })];
    for (const key of keys) table.remove(key);
    if (keys.length < REMOVE_CHUNK) return;
  }
}
