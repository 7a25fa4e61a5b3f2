import assert from 'node:assert/strict';
import type { PartitionKey, PartitionState, Store } from '@tidemark/core';

/** Calls `trim` until the floor has come as far as it was asked to; every call must bring it nearer. */
export async function trimFully(store: Store, key: PartitionKey, upTo: number): Promise<PartitionState> {
  let state = await store.partition(key);
  const goal = Math.min(upTo, state.head);
  while (state.floor < goal) {
    const next = await store.trim(key, upTo);
    assert.ok(next.floor > state.floor, `a trim to ${upTo} left the floor at ${next.floor}`);
    state = next;
  }
  return state;
}
