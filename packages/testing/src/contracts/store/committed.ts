import assert from 'node:assert/strict';
import type { Change, Commit, PartitionKey, PartitionState, Store } from '@tidemark/core';

/** A partition that is enough for most cases. */
export const ORDERS: PartitionKey = { source: 'Order', user: 'ann' };

/** Commits, insists that it worked, and gives the state. */
export async function committed(
  store: Store,
  changes: readonly Change[],
  more: Partial<Commit> = {},
): Promise<PartitionState> {
  const result = await store.commit({ partition: ORDERS, changes, guards: [], ...more });
  assert.equal(result.status, 'committed');
  return result.status === 'committed' ? result.state : assert.fail();
}
