import type { JournalRange, JournalSlice, PartitionKey, Store } from '@tidemark/core';

/** A range that nothing cuts. */
export const WHOLE: JournalRange = {
  after: 0,
  tombstonesAfter: 0,
  entriesMax: 1_000_000,
  unitsMax: Number.MAX_SAFE_INTEGER,
};

export function wholeJournal(store: Store, partition: PartitionKey): Promise<JournalSlice> {
  return store.readJournal(partition, WHOLE);
}
