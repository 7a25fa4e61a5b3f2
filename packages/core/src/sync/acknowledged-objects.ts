import { JournalFollower } from '../journal/follower.ts';
import { isValidUpTo } from '../journal/is-valid-up-to.ts';
import { objectText } from '../journal/json-text.ts';
import { readRecord } from '../journal/record.ts';
import type { DeviceTidemark, JournalSlice, PartitionKey, PartitionState, Store } from '../ports/store.ts';

/**
 * The document `cd`: the part of md that the device has acknowledged. What has changed since the device saw it is not
 * among it, because what the device holds instead is kept nowhere but there.
 */
export async function acknowledgedObjects(
  store: Store,
  partition: PartitionKey,
  client: string,
): Promise<ReadonlyMap<string, string>> {
  const mark = await store.readTidemark(partition, client);
  const objects = new Map<string, string>();
  if (mark === null) return objects;
  const slice = ({ state, records, seqs, tombstones }: JournalSlice) => {
    for (const [index, record] of records.entries()) {
      const seq = seqs[index] ?? 0;
      const { id, attributes } = readRecord(record, seq);
      if (isHeld(state, mark, seq)) objects.set(id, objectText(attributes));
      else objects.delete(id);
    }
    for (const id of tombstones) objects.delete(id);
  };
  await new JournalFollower(store, partition).catchUp({ slice, restart: () => objects.clear() });
  return objects;
}

function isHeld(state: PartitionState, { epoch, seq: upTo }: DeviceTidemark, seq: number): boolean {
  const trueUpTo = isValidUpTo(state, epoch);
  return trueUpTo !== null && seq <= Math.min(upTo, trueUpTo);
}
