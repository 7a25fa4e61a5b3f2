import { JournalFollower } from '../journal/follower.ts';
import { isValidUpTo } from '../journal/is-valid-up-to.ts';
import { ObjectRecord } from '../journal/record.ts';
import type { DeviceTidemark, JournalSlice, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { isoTime } from '../primitives/time.ts';

/** How far a device has come with a source, as administrators see it. */
export interface Cursor {
  /** How far its pages went. */
  readonly seq: number;
  /** The head at its last complete catch-up; null while it starts over. */
  readonly base: number | null;
  /** The head of the source. */
  readonly head: number;
  readonly seen_at: string;
}

/** Returns the cursor of a device in a partition; null: the device has not pulled it in its present epoch. */
export async function readCursor(store: Store, partition: PartitionKey, client: string): Promise<Cursor | null> {
  const mark = await store.readTidemark(partition, client);
  const state = await store.partition(partition);
  if (mark === null || isValidUpTo(state, mark.epoch) === null) return null;
  const { seq, base, seenAtMs } = mark;
  return { seq, base, head: state.head, seen_at: isoTime(seenAtMs) };
}

/**
 * The document `cd`: the objects of md that the device has acknowledged. Objects that have changed since are left out,
 * because the version that the device holds is stored nowhere else.
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
      const { id, attributes } = new ObjectRecord(record, seq);
      if (isAcknowledged(state, mark, seq)) objects.set(id, attributes.text);
      else objects.delete(id);
    }
    for (const id of tombstones) objects.delete(id);
  };
  await new JournalFollower(store, partition).catchUp({ slice, restart: () => objects.clear() });
  return objects;
}

function isAcknowledged(state: PartitionState, { epoch, seq: upTo }: DeviceTidemark, seq: number): boolean {
  const validUpTo = isValidUpTo(state, epoch);
  return validUpTo !== null && seq <= Math.min(upTo, validUpTo);
}
