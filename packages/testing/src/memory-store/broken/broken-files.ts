import type { Change } from '@tidemark/core';
import type { BrokenStore } from './broken-store.ts';

const withoutFiles = ({ files: _files, ...change }: Change): Change => change;

export const brokenFiles: readonly BrokenStore[] = [
  {
    flaw: 'keeps the files of an object that is replaced by one without',
    caughtBy: 'STORE-84',
    breaks: (store) => ({
      commit: async (commit) => {
        const changes: Change[] = [];
        for (const change of commit.changes) {
          const files: string[] = [];
          for (const sha256 of await store.listFiles(commit.partition, { limit: 1_000 })) {
            const ids = await store.objectsWithFile(commit.partition, sha256, 1_000);
            if (ids.includes(change.id)) files.push(sha256);
          }
          const isStale = change.record !== null && change.files === undefined && files.length > 0;
          changes.push(isStale ? { ...change, files } : change);
        }
        return store.commit({ ...commit, changes });
      },
    }),
  },
  {
    flaw: 'forgets the files of the last change',
    caughtBy: 'STORE-84',
    breaks: (store) => ({
      commit: (commit) => {
        const last = commit.changes.length - 1;
        const changes = commit.changes.map((change, at) => (at === last ? withoutFiles(change) : change));
        return store.commit({ ...commit, changes });
      },
    }),
  },
  {
    flaw: 'finds the files of the partitions that were erased',
    caughtBy: 'STORE-85',
    breaks: (store) => ({
      writeEntries: ({ erase, ...batch }) =>
        store.writeEntries({ ...batch, ...(erase?.users === undefined ? {} : { erase: { users: erase.users } }) }),
    }),
  },
  {
    flaw: 'does not look at the files when it verifies',
    caughtBy: 'STORE-86',
    breaks: (store) => ({
      verify: async function* (reader) {
        for await (const finding of store.verify(reader)) if (finding.problem !== 'wrong_files') yield finding;
      },
    }),
  },
];
