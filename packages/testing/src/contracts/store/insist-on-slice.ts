import assert from 'node:assert/strict';
import type { JournalRange, JournalSlice, Store } from '@tidemark/core';
import { ORDERS } from './committed.ts';
import type { PartitionModel } from './partition-model.ts';

/**
 * Compares a slice with the oracle's. Between the last entry given and the first one left out the stretch may end
 * anywhere, since nothing stands there; when nothing is left out it ends at the head and nowhere else.
 */
export async function insistOnSlice(store: Store, model: PartitionModel, range: JournalRange): Promise<void> {
  const slice = await store.readJournal(ORDERS, range);
  const { state, upTo, ...given } = slice;
  const { lastSeq, nextSeq, ...wanted } = model.slice(range);
  const about = JSON.stringify(range);
  assert.deepEqual(given, wanted, about);
  assert.deepEqual(state, { epoch: state.epoch, ...model.state() }, about);
  if (nextSeq === null) {
    assert.equal(upTo, model.head, about);
  } else {
    assert.ok(upTo >= (lastSeq ?? range.after) && upTo < nextSeq, `${about} ended at ${upTo}`);
  }
  await insistOnJoined(store, slice, range);
}

/** However a stretch is read, it is the same. Nobody writes meanwhile. */
async function insistOnJoined(store: Store, slice: JournalSlice, range: JournalRange): Promise<void> {
  const joined = await store.readJoined(ORDERS, range);
  const { state, tombstones, records } = slice;
  const wanted = { state, tombstones, count: records.length, records: records.join(',') };
  const { upTo, isOneLine, ...given } = joined;
  assert.deepEqual({ ...given, records: new TextDecoder().decode(given.records) }, wanted, JSON.stringify(range));
  assert.ok(upTo === slice.upTo, `joined, it ended at ${upTo} instead of ${slice.upTo}`);
  assert.ok(isOneLine !== true || !wanted.records.includes('\n'), 'there is a line feed after all');
}
