import type { Commit, EntryBatch, Store } from '@tidemark/core';
import { replaced } from '../faults/replaced.ts';
import type { FileRule } from '../runner/violation.ts';
import type { FilePlant } from './file-server.ts';

export interface PlantedBug extends FilePlant {
  readonly name: string;
  readonly breaks: FileRule;
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'the collector removes a file without asking again',
    breaks: 'FILESIM-1',
    bytes: (bytes) =>
      replaced(bytes, {
        remove: async (sha256, isWanted) => {
          await isWanted();
          await bytes.remove(sha256, async () => false);
        },
      }),
  },
  {
    name: 'the grace period is ignored',
    breaks: 'FILESIM-1',
    graceMs: 0,
  },
  {
    name: 'the reference of an object that is deleted stays in the index',
    breaks: 'FILESIM-2',
    store: (store) => {
      const stale = new Set<string>();
      return replaced(store, {
        commit: async (commit: Commit) => {
          const result = await store.commit(commit);
          const isDeleted = commit.changes.some(({ record }) => record === null);
          if (result.status === 'committed' && isDeleted) stale.add(JSON.stringify(commit.partition));
          return result;
        },
        objectsWithFile: async (key, sha256, limit) =>
          stale.has(JSON.stringify(key)) ? ['1'] : store.objectsWithFile(key, sha256, limit),
      });
    },
  },
  {
    name: 'a hash that a user only knows counts as a right',
    breaks: 'FILESIM-3',
    store: (store) => withEntries(store, 'file_claim', (value) => value.replace('"isProven":false', '"isProven":true')),
  },
  {
    name: 'a membership is not asked again',
    breaks: 'FILESIM-3',
    mayRead: (mayRead) => {
      const known = new Set<string>();
      return async (user, file) => {
        const may = known.has(`${user} ${file}`) || (await mayRead(user, file));
        if (may) known.add(`${user} ${file}`);
        return may;
      };
    },
  },
  {
    name: 'what a user has sent belongs to the next user of the login',
    breaks: 'FILESIM-3',
    store: (store) =>
      replaced(store, {
        readEntry: async (ref) => {
          const entry = await store.readEntry(ref);
          return entry !== null && ref.key[0] === 'life' ? { ...entry, version: 1 } : entry;
        },
        writeEntries: (batch) => store.writeEntries({ ...batch, guards: batch.guards.map(withoutVersion) }),
        commit: (commit) => store.commit({ ...commit, guards: commit.guards.map(withoutVersion) }),
      }),
  },
  {
    name: 'bytes that come after their reference do not make it good',
    breaks: 'FILESIM-4',
    store: (store) => withEntries(store, 'file_claim', (value) => value.replace('"isProven":true', '"isProven":false')),
  },
  {
    name: 'a file that is removed keeps its place in the quota',
    breaks: 'FILESIM-5',
    store: (store) =>
      replaced(store, {
        writeEntries: (batch) => {
          const isRemoval = batch.writes.some(({ kind, value }) => kind === 'file_sender' && value === null);
          const writes = isRemoval ? batch.writes.filter(({ kind }) => kind !== 'file_usage') : batch.writes;
          return store.writeEntries({ ...batch, writes });
        },
      }),
  },
];

/** A store that keeps other values of a kind of entries than it is given. */
function withEntries(store: Store, kind: string, change: (value: string) => string): Store {
  const changed = (batch: EntryBatch) =>
    batch.writes.map((write) =>
      write.kind === kind && write.value !== null ? { ...write, value: change(write.value) } : write,
    );
  return replaced(store, { writeEntries: (batch) => store.writeEntries({ ...batch, writes: changed(batch) }) });
}

/** The generation of a user is guarded by its version. */
function withoutVersion<T extends { readonly key: readonly string[] }>(guard: T): T {
  if (guard.key[0] !== 'life') return guard;
  const { version: _version, ...rest } = guard as T & { readonly version?: number };
  return rest as unknown as T;
}
