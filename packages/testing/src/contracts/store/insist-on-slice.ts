import assert from 'node:assert/strict';
import type { JournalRange, Store } from '@tidemark/core';
import { ORDERS } from './committed.ts';
import type { PartitionModel } from './partition-model.ts';

/**
 * Compares a slice with the oracle's. Between the last entry given and the first one left out the stretch may end
 * anywhere, since nothing stands there; when nothing is left out it ends at the head and nowhere else.
 */
export async function insistOnSlice(store: Store, model: PartitionModel, range: JournalRange): Promise<void> {
  const { state, upTo, ...given } = await store.readJournal(ORDERS, range);
  const { lastSeq, nextSeq, ...wanted } = model.slice(range);
  const about = JSON.stringify(range);
  assert.deepEqual(given, wanted, about);
  assert.deepEqual(state, { epoch: state.epoch, ...model.state() }, about);
  if (nextSeq === null) {
    assert.equal(upTo, model.head, about);
  } else {
    assert.ok(upTo >= (lastSeq ?? range.after) && upTo < nextSeq, `${about} ended at ${upTo}`);
  }
}
