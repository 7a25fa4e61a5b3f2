import type { Finding, StatRow, Store } from '@tidemark/core';
import type { BrokenStore } from './broken-store.ts';

export const brokenResets: readonly BrokenStore[] = [
  { flaw: 'works after it was closed', caughtBy: 'STORE-8', breaks: () => ({ close: async () => undefined }) },
  {
    flaw: 'keeps no entries when it is reset',
    caughtBy: 'STORE-57',
    breaks: (store) => ({ reset: () => store.reset([]) }),
  },
  {
    flaw: 'keeps statistics when it is reset',
    caughtBy: 'STORE-57',
    breaks: (store) => ({
      reset: async (keep) => {
        const rows: StatRow[] = [];
        for (const name of await store.statNames()) rows.push(...(await store.readStats(name, 'oldest', 1_000_000)));
        const epoch = await store.reset(keep);
        await store.addStats(rows);
        return epoch;
      },
    }),
  },
  {
    flaw: 'keeps its epoch when it is reset',
    caughtBy: 'STORE-58',
    breaks: (store) => {
      let first: string | null = null;
      const epoch = async () => {
        first ??= await store.epoch();
        return first;
      };
      return {
        epoch,
        reset: async (keep) => {
          await epoch();
          await store.reset(keep);
          return epoch();
        },
      };
    },
  },
  {
    flaw: 'reports false findings',
    caughtBy: 'STORE-60',
    breaks: () => ({ verify: () => findings({ partition: null, problem: 'orphan', detail: 'a shadow' }) }),
  },
  { flaw: 'verifies nothing', caughtBy: 'STORE-61', breaks: () => ({ verify: () => findings() }) },
  {
    flaw: 'verifies everything but checksums',
    caughtBy: 'STORE-61',
    breaks: (store) => ({ verify: (reader) => withoutChecksums(store.verify(reader)) }),
  },
  { flaw: 'has no name', caughtBy: 'STORE-64', breaks: () => ({ engine: { name: '', durability: 'memory' } }) },
];

async function* findings(...all: readonly Finding[]): AsyncIterable<Finding> {
  yield* all;
}

async function* withoutChecksums(all: ReturnType<Store['verify']>): AsyncIterable<Finding> {
  for await (const finding of all) if (!finding.problem.includes('checksum')) yield finding;
}
