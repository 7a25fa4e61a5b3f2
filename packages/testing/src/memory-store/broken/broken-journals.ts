import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type JournalRange,
  type JournalSlice,
  joinedSlice,
  type PartitionKey,
  type Store,
  type StoredObject,
} from '@tidemark/core';
import type { BrokenStore } from './broken-store.ts';

/** Returns a store that changes the requested range or the returned slice. */
function brokenSlice(
  change: (slice: JournalSlice, range: JournalRange) => JournalSlice,
  ask: (range: JournalRange) => JournalRange = (range) => range,
): BrokenStore['breaks'] {
  return (store: Store) => ({
    readJournal: async (key, range) => change(await store.readJournal(key, ask(range)), range),
  });
}

const asItIs = (slice: JournalSlice) => slice;

export const brokenJournals: readonly BrokenStore[] = [
  {
    flaw: 'joins records without separators',
    caughtBy: 'STORE-74',
    breaks: (store) => ({
      readJoined: async (key, range) => {
        const slice = await store.readJournal(key, range);
        return { ...joinedSlice(slice), records: new TextEncoder().encode(slice.records.join('')) };
      },
    }),
  },
  {
    flaw: 'joins more records than fit',
    caughtBy: 'STORE-74',
    breaks: (store) => ({
      readJoined: (key, range) => store.readJoined(key, { ...range, entriesMax: range.entriesMax + 1 }),
    }),
  },
  {
    flaw: 'reports for every record that it contains no line feed',
    caughtBy: 'STORE-74',
    breaks: (store) => ({
      readJoined: async (key, range) => ({ ...(await store.readJoined(key, range)), isOneLine: true }),
    }),
  },
  {
    flaw: 'counts the record at the start of a range, too',
    caughtBy: 'STORE-80',
    breaks: (store) => ({
      countRecords: (key, { after, upTo }) => store.countRecords(key, { after: Math.max(0, after - 1), upTo }),
    }),
  },
  {
    flaw: 'gives the changes of a commit the time of the commit before',
    caughtBy: 'STORE-81',
    breaks: (store) => ({
      commitTimes: async (key) => (await store.commitTimes(key)).map((one) => ({ ...one, seq: one.seq + 1 })),
    }),
  },
  {
    flaw: 'returns a state of a later time',
    caughtBy: 'STORE-5',
    breaks: (store) => ({
      readJournal: async (key, range) => {
        const slice = await store.readJournal(key, range);
        await nextTurn();
        return { ...slice, state: await store.partition(key) };
      },
    }),
  },
  {
    flaw: 'keeps an object at its old seq as well',
    caughtBy: 'STORE-12',
    breaks: brokenSlice((slice) => ({ ...slice, records: [...slice.records.slice(-1), ...slice.records] })),
  },
  {
    flaw: 'leaves no tombstones',
    caughtBy: 'STORE-13',
    breaks: brokenSlice((slice) => ({ ...slice, tombstones: [] })),
  },
  {
    flaw: 'skips a tombstone where it cuts',
    caughtBy: 'STORE-22',
    breaks: brokenSlice((slice) => {
      const cutAtGrave = slice.upTo < slice.state.head && slice.upTo > (slice.seqs.at(-1) ?? 0);
      return cutAtGrave ? { ...slice, tombstones: slice.tombstones.slice(0, -1) } : slice;
    }),
  },
  {
    flaw: 'begins at the given seq instead of after it',
    caughtBy: 'STORE-22',
    breaks: brokenSlice(asItIs, (range) => ({ ...range, after: Math.max(0, range.after - 1) })),
  },
  {
    flaw: 'returns one entry too many',
    caughtBy: 'STORE-23',
    breaks: brokenSlice(asItIs, (range) => ({ ...range, entriesMax: range.entriesMax + 1 })),
  },
  {
    flaw: 'ignores the units of entries',
    caughtBy: 'STORE-24',
    breaks: brokenSlice(asItIs, (range) => ({ ...range, unitsMax: Number.MAX_SAFE_INTEGER })),
  },
  {
    flaw: 'cuts one unit early',
    caughtBy: 'STORE-24',
    breaks: brokenSlice(asItIs, (range) => ({ ...range, unitsMax: range.unitsMax - 1 })),
  },
  {
    flaw: 'returns nothing when the first entry is too large',
    caughtBy: 'STORE-24',
    breaks: brokenSlice((slice, { after, unitsMax }) => {
      const heavy = [...slice.records, ...slice.tombstones].join('').length > unitsMax;
      return heavy ? { ...slice, records: [], seqs: [], tombstones: [], upTo: after } : slice;
    }),
  },
  {
    flaw: 'returns all tombstones',
    caughtBy: 'STORE-25',
    breaks: brokenSlice(asItIs, (range) => ({ ...range, tombstonesAfter: 0 })),
  },
  {
    flaw: 'skips records together with the tombstones',
    caughtBy: 'STORE-25',
    breaks: brokenSlice(asItIs, (range) => ({ ...range, after: Math.max(range.after, range.tombstonesAfter) })),
  },
  {
    flaw: 'ends at the last record instead of the head',
    caughtBy: 'STORE-26',
    breaks: brokenSlice((slice, { after }) => {
      return slice.tombstones.length === 0 ? { ...slice, upTo: slice.seqs.at(-1) ?? after } : slice;
    }),
  },
  {
    flaw: 'reports one seq more than it read',
    caughtBy: 'STORE-27',
    breaks: brokenSlice((slice) => ({ ...slice, upTo: Math.min(slice.upTo + 1, slice.state.head) })),
  },
  {
    flaw: 'trims without raising the floor',
    caughtBy: 'STORE-28',
    breaks: (store) => ({
      trim: async (key, upTo) => ({ ...(await store.trim(key, upTo)), floor: 0 }),
      partition: async (key) => ({ ...(await store.partition(key)), floor: 0 }),
    }),
  },
  {
    flaw: 'also trims the tombstone after the given seq',
    caughtBy: 'STORE-28',
    breaks: (store) => ({ trim: (key, upTo) => store.trim(key, upTo + 1) }),
  },
  {
    flaw: 'trims everything in one call',
    caughtBy: 'STORE-29',
    breaks: (store) => ({ trim: (key, upTo) => trimToTheEnd(store, key, upTo) }),
  },
  {
    flaw: 'raises the floor beyond the head',
    caughtBy: 'STORE-30',
    breaks: (store) => ({ trim: async (key, upTo) => ({ ...(await store.trim(key, upTo)), floor: upTo }) }),
  },
  {
    flaw: 'keeps trimmed tombstones in the index',
    caughtBy: 'STORE-31',
    breaks: (store) => {
      const seen = new Map<string, StoredObject>();
      return {
        commit: async (commit) => {
          const result = await store.commit(commit);
          const { objects } = await store.readObjects(
            commit.partition,
            commit.changes.map(({ id }) => id),
          );
          for (const [id, object] of objects) seen.set(id, object);
          return result;
        },
        readObjects: async (key, ids) => {
          const { state } = await store.readObjects(key, ids);
          return { state, objects: new Map([...seen].filter(([id]) => ids.includes(id))) };
        },
      };
    },
  },
];

async function trimToTheEnd(store: Store, key: PartitionKey, upTo: number) {
  let state = await store.trim(key, upTo);
  while (state.floor < Math.min(upTo, state.head)) state = await store.trim(key, upTo);
  return state;
}
