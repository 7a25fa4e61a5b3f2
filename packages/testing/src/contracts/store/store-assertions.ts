import assert from 'node:assert/strict';
import type { Change, Commit, JournalRange, JournalSlice, PartitionKey, PartitionState, Store } from '@tidemark/core';
import { userPartition } from '@tidemark/core';
import type { PartitionModel } from './partition-model.ts';

/** The partition of most cases. */
export const ORDERS: PartitionKey = userPartition('Order', 'ann');

/** Commits changes, asserts success, and returns the state. */
export async function committed(
  store: Store,
  changes: readonly Change[],
  more: Partial<Commit> = {},
): Promise<PartitionState> {
  const result = await store.commit({ partition: ORDERS, changes, guards: [], ...more });
  assert.equal(result.status, 'committed');
  return result.status === 'committed' ? result.state : assert.fail();
}

/** Checks a listing in pages of several sizes: every page is full, sorted, and continues where the last one ended. */
export async function assertPaging<T>(
  all: readonly T[],
  read: (last: T | undefined, limit: number) => Promise<readonly T[]>,
): Promise<void> {
  for (const limit of [1, 2, 3, 7, all.length, all.length + 1]) {
    for (let from = 0; from < all.length + limit; from += limit) {
      assert.deepEqual(await read(all.slice(0, from).at(-1), limit), all.slice(from, from + limit));
    }
  }
}

/**
 * Compares a slice with the model's. `upTo` may be any seq from the last returned entry to just before the first one left
 * out; if nothing is left out, it is the head.
 */
export async function assertSlice(store: Store, model: PartitionModel, range: JournalRange): Promise<void> {
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
  await assertJoined(store, slice, range);
  const counted = await store.countRecords(ORDERS, { after: range.after, upTo });
  assert.deepEqual(counted, { state, count: slice.records.length }, about);
}

/** Checks that all ways to read a range return the same. Nobody writes at the same time. */
async function assertJoined(store: Store, slice: JournalSlice, range: JournalRange): Promise<void> {
  const joined = await store.readJoined(ORDERS, range);
  const { state, tombstones, records } = slice;
  const wanted = { state, tombstones, count: records.length, records: records.join(',') };
  const { upTo, isOneLine, ...given } = joined;
  assert.deepEqual({ ...given, records: new TextDecoder().decode(given.records) }, wanted, JSON.stringify(range));
  assert.ok(upTo === slice.upTo, `joined, it ended at ${upTo} instead of ${slice.upTo}`);
  assert.ok(isOneLine !== true || !wanted.records.includes('\n'), 'there is a line feed after all');
}

/** Calls `trim` until the floor reaches its goal. Every call must raise it. */
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

/** The range of the whole journal. */
export const WHOLE: JournalRange = {
  after: 0,
  tombstonesAfter: 0,
  entriesMax: 1_000_000,
  unitsMax: Number.MAX_SAFE_INTEGER,
};

export function wholeJournal(store: Store, partition: PartitionKey): Promise<JournalSlice> {
  return store.readJournal(partition, WHOLE);
}

/** Sorts texts by their UTF-8 bytes, by comparing hexadecimal digits. */
export function sortByBytes(texts: Iterable<string>): string[] {
  return [...texts]
    .map((text) => ({ text, digits: Buffer.from(text).toString('hex') }))
    .sort((left, right) => (left.digits < right.digits ? -1 : 1))
    .map(({ text }) => text);
}
