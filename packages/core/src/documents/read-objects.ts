import { JournalFollower } from '../journal/follower.ts';
import { ObjectRecord } from '../journal/record.ts';
import type { JournalSlice, PartitionKey, PartitionState, Store } from '../ports/store.ts';

export interface ObjectsSnapshot {
  readonly state: PartitionState;
  /** Id → attributes as the text of a JSON object. */
  readonly objects: ReadonlyMap<string, string>;
}

/** The whole document of a partition as it was at one moment. */
export async function readObjects(store: Store, partition: PartitionKey): Promise<ObjectsSnapshot> {
  const objects = new Map<string, string>();
  const slice = ({ records, seqs, tombstones }: JournalSlice) => {
    for (const [index, record] of records.entries()) {
      const { id, attributes } = new ObjectRecord(record, seqs[index] ?? 0);
      objects.set(id, attributes.text);
    }
    for (const id of tombstones) objects.delete(id);
  };
  const state = await new JournalFollower(store, partition).catchUp({ slice, restart: () => objects.clear() });
  return { state, objects };
}
