import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Entry, EntryBatch, EntryWrite, Erasure, Store } from '@tidemark/core';
import type { BrokenStore } from './broken-store.ts';

const ALL = 1_000_000;

/** Returns a store that erases other things than requested. */
function brokenErasure(change: (erase: Erasure) => Erasure): BrokenStore['breaks'] {
  return (store: Store) => ({
    writeEntries: (batch) => {
      return store.writeEntries(batch.erase === undefined ? batch : { ...batch, erase: change(batch.erase) });
    },
  });
}

/** Returns a store that writes other entries than requested. */
function brokenWrites(change: (write: EntryWrite) => EntryWrite): BrokenStore['breaks'] {
  return (store: Store) => ({
    writeEntries: (batch) => store.writeEntries({ ...batch, writes: batch.writes.map(change) }),
  });
}

export const brokenEntries: readonly BrokenStore[] = [
  {
    flaw: 'acknowledges entries before they are written',
    caughtBy: 'STORE-4',
    breaks: (store) => ({
      writeEntries: async (batch) => {
        void nextTurn().then(() => store.writeEntries(batch).catch(() => undefined));
        return { status: 'written' };
      },
    }),
  },
  {
    flaw: 'ignores the guards of entries',
    caughtBy: 'STORE-19',
    breaks: (store) => ({ writeEntries: (batch) => store.writeEntries({ ...batch, guards: [] }) }),
  },
  {
    flaw: 'removes an entry by emptying it',
    caughtBy: 'STORE-38',
    breaks: brokenWrites((write) => ({ ...write, value: write.value ?? '' })),
  },
  {
    flaw: 'takes an empty value for a removal',
    caughtBy: 'STORE-38',
    breaks: brokenWrites((write) => ({ ...write, value: write.value || null })),
  },
  {
    flaw: 'restarts the versions of a key after a deletion',
    caughtBy: 'STORE-39',
    breaks: (store) => {
      const versions = new Map<string, number>();
      return {
        writeEntries: (batch) => {
          for (const { key, value } of batch.writes) {
            versions.set(JSON.stringify(key), value === null ? 0 : (versions.get(JSON.stringify(key)) ?? 0) + 1);
          }
          return store.writeEntries(batch);
        },
        readEntry: async (ref) => {
          const entry = await store.readEntry(ref);
          return entry === null ? null : { ...entry, version: versions.get(JSON.stringify(ref.key)) ?? 0 };
        },
      };
    },
  },
  {
    flaw: 'ignores the expected version of an entry',
    caughtBy: 'STORE-40',
    breaks: brokenWrites(({ kind, key, value }) => ({ kind, key, value })),
  },
  {
    flaw: 'orders entries by UTF-16 units',
    caughtBy: 'STORE-41',
    breaks: (store) => ({
      listEntries: async (list) => {
        const order = (left: Entry, right: Entry) => (left.key.join('\n') < right.key.join('\n') ? -1 : 1);
        return [...(await store.listEntries({ ...list, limit: ALL }))].sort(order).slice(0, list.limit);
      },
    }),
  },
  {
    flaw: 'orders entries by the joined parts of their keys',
    caughtBy: 'STORE-41',
    breaks: (store) => ({
      listEntries: async (list) => {
        const text = ({ key }: Entry) => Buffer.from(key.join(':'));
        const all = [...(await store.listEntries({ ...list, limit: ALL }))];
        return all.sort((left, right) => Buffer.compare(text(left), text(right))).slice(0, list.limit);
      },
    }),
  },
  {
    flaw: 'treats a prefix as the beginning of a text',
    caughtBy: 'STORE-41',
    breaks: (store) => ({
      listEntries: async (list) => {
        const all = await store.listEntries({ ...list, prefix: [], limit: ALL });
        return all.filter(({ key }) => key.join(':').startsWith(list.prefix.join(':'))).slice(0, list.limit);
      },
    }),
  },
  {
    flaw: 'lists the entry of the cursor again',
    caughtBy: 'STORE-41',
    breaks: (store) => ({
      listEntries: async (list) => {
        const last = list.after === undefined ? null : await store.readEntry({ kind: list.kind, key: list.after });
        const rest = await store.listEntries(list);
        return last === null ? rest : [last, ...rest].slice(0, list.limit);
      },
    }),
  },
  {
    flaw: 'counts writes instead of entries',
    caughtBy: 'STORE-42',
    breaks: (store) => {
      let count = 0;
      return {
        writeEntries: (batch) => {
          count += batch.writes.length;
          return store.writeEntries(batch);
        },
        countEntries: async () => count,
      };
    },
  },
  {
    flaw: 'writes a batch one entry after the other',
    caughtBy: 'STORE-43',
    breaks: (store) => ({ writeEntries: (batch) => writeOneByOne(store, batch) }),
  },
  {
    flaw: 'erases although the entries conflict',
    caughtBy: 'STORE-43',
    breaks: (store) => ({
      writeEntries: async ({ writes, guards, erase = {} }) => {
        const result = await store.writeEntries({ writes, guards });
        await store.writeEntries({ writes: [], guards: [], erase });
        return result;
      },
    }),
  },
  {
    flaw: 'keeps the data of erased users',
    caughtBy: 'STORE-44',
    breaks: brokenErasure(({ clients = [], sources = [] }) => ({ clients, sources })),
  },
  {
    flaw: 'erases clients together with users of the same name',
    caughtBy: 'STORE-44',
    breaks: brokenErasure((erase) => ({ ...erase, clients: [...(erase.clients ?? []), ...(erase.users ?? [])] })),
  },
  {
    flaw: 'keeps the data of erased clients',
    caughtBy: 'STORE-45',
    breaks: brokenErasure(({ users = [], sources = [] }) => ({ users, sources })),
  },
  {
    flaw: 'keeps the data of erased sources',
    caughtBy: 'STORE-46',
    breaks: brokenErasure(({ users = [], clients = [] }) => ({ users, clients })),
  },
  {
    flaw: 'erases shared data with a user',
    caughtBy: 'STORE-47',
    breaks: brokenErasure((erase) => (erase.users === undefined ? erase : { ...erase, sources: ['Order'] })),
  },
];

async function writeOneByOne(store: Store, batch: EntryBatch) {
  for (const write of batch.writes) {
    const result = await store.writeEntries({ writes: [write], guards: batch.guards });
    if (result.status !== 'written') return result;
  }
  return store.writeEntries({ ...batch, writes: [] });
}
