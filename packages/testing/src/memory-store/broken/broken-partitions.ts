import { ownerText, type PartitionKey, type StoredObject, sharedPartition } from '@tidemark/core';
import type { BrokenStore } from './broken-store.ts';

export const brokenPartitions: readonly BrokenStore[] = [
  {
    flaw: 'joins source and owner with a separator',
    caughtBy: 'STORE-1',
    breaks: (store) => {
      const joined = ({ source, owner }: PartitionKey) => sharedPartition(`${source}:${ownerText(owner)}`);
      return {
        commit: (commit) => store.commit({ ...commit, partition: joined(commit.partition) }),
        readObjects: (key, ids) => store.readObjects(joined(key), ids),
      };
    },
  },
  {
    flaw: 'treats ids as equal that differ only in normalisation',
    caughtBy: 'STORE-1',
    breaks: (store) => ({
      readObjects: (key, ids) =>
        store.readObjects(
          key,
          ids.map((id) => id.normalize('NFC')),
        ),
    }),
  },
  {
    flaw: 'loses the byte order mark at the beginning of a record',
    caughtBy: 'STORE-2',
    breaks: (store) => ({
      readObjects: async (key, ids) => {
        const { state, objects } = await store.readObjects(key, ids);
        const strip = (object: StoredObject) => ({ ...object, record: object.record?.replace(/^\ufeff/, '') ?? null });
        return { state, objects: new Map([...objects].map(([id, object]) => [id, strip(object)])) };
      },
    }),
  },
  {
    flaw: 'treats an empty record as a tombstone',
    caughtBy: 'STORE-2',
    breaks: (store) => ({
      readObjects: async (key, ids) => {
        const { state, objects } = await store.readObjects(key, ids);
        return {
          state,
          objects: new Map([...objects].map(([id, { seq, record }]) => [id, { seq, record: record || null }])),
        };
      },
    }),
  },
  {
    flaw: 'has no epoch for a partition without any write',
    caughtBy: 'STORE-9',
    breaks: (store) => ({
      partition: async (key) => {
        const state = await store.partition(key);
        return state.head === 0 ? { ...state, epoch: '' } : state;
      },
    }),
  },
  {
    flaw: 'does not look up tombstones',
    caughtBy: 'STORE-20',
    breaks: (store) => ({
      readObjects: async (key, ids) => {
        const { state, objects } = await store.readObjects(key, ids);
        return { state, objects: new Map([...objects].filter(([, { record }]) => record !== null)) };
      },
    }),
  },
  {
    flaw: 'lists the partition of the cursor again',
    caughtBy: 'STORE-21',
    breaks: (store) => ({
      partitions: async ({ after, limit }) => {
        if (after === undefined) return store.partitions({ limit });
        return [after, ...(await store.partitions({ after, limit }))].slice(0, limit);
      },
    }),
  },
  {
    flaw: 'lists all partitions whatever the limit',
    caughtBy: 'STORE-21',
    breaks: (store) => ({ partitions: (list) => store.partitions({ ...list, limit: 1_000 }) }),
  },
  {
    flaw: 'ends a listing when the partition of the cursor is deleted',
    caughtBy: 'STORE-21',
    breaks: (store) => ({
      partitions: async (list) => {
        const { after } = list;
        return after !== undefined && (await store.partition(after)).head === 0 ? [] : store.partitions(list);
      },
    }),
  },
  {
    flaw: 'gives a recreated partition its old epoch',
    caughtBy: 'STORE-48',
    breaks: (store) => {
      const epochs = new Map<string, string>();
      return {
        commit: async (commit) => {
          const result = await store.commit(commit);
          if (result.status !== 'committed') return result;
          const place = JSON.stringify(commit.partition);
          const epoch = epochs.get(place) ?? result.state.epoch;
          epochs.set(place, epoch);
          return { ...result, state: { ...result.state, epoch } };
        },
      };
    },
  },
];
