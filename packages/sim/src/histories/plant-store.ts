import {
  type JournalSlice,
  joinedSlice,
  ownerText,
  type PartitionKey,
  type PartitionState,
  type Store,
} from '@tidemark/core';
import { replaced } from '../faults/replaced.ts';
import { keyOf, type ModelPartition } from '../model/partition.ts';

/** Replaces members of a store; a replaced `readJournal` also changes `readJoined`. */
export function replacedInStore(store: Store, changes: Partial<Store>): Store {
  const { readJournal } = changes;
  if (readJournal === undefined) return replaced(store, changes);
  return replaced(store, { ...changes, readJoined: async (key, range) => joinedSlice(await readJournal(key, range)) });
}

export function readingJournal(store: Store, change: (slice: JournalSlice) => JournalSlice): Store {
  return replacedInStore(store, { readJournal: async (key, range) => change(await store.readJournal(key, range)) });
}

/** Returns a store that reports a changed state of its partitions everywhere. */
export function withState(store: Store, change: (state: PartitionState) => PartitionState): Store {
  return replaced(
    readingJournal(store, (slice) => ({ ...slice, state: change(slice.state) })),
    {
      partition: async (key) => change(await store.partition(key)),
      readObjects: async (key, ids) => {
        const read = await store.readObjects(key, ids);
        return { ...read, state: change(read.state) };
      },
      commit: async (commit) => {
        const result = await store.commit(commit);
        return result.status === 'committed' ? { ...result, state: change(result.state) } : result;
      },
    },
  );
}

export function withKeys(store: Store, changeModel: (key: ModelPartition) => ModelPartition): Store {
  const change = ({ source, owner }: PartitionKey) => keyOf(changeModel({ source, user: ownerText(owner) }));
  return replacedInStore(store, {
    partition: (key) => store.partition(change(key)),
    readObjects: (key, ids) => store.readObjects(change(key), ids),
    readJournal: (key, range) => store.readJournal(change(key), range),
    commit: (commit) => store.commit({ ...commit, partition: change(commit.partition) }),
    trim: (key, upTo) => store.trim(change(key), upTo),
  });
}
