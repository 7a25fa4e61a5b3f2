import { openMemoryStore, seededRandom } from '@tidemark/client-testing';
import { describe, expect, it } from 'vitest';
import type { StoreEngine } from '../../contracts/store/store-case.ts';
import { runStoreCase } from '../../contracts/store/store-case.ts';
import { storeCases } from '../../contracts/store/store-cases.ts';
import { brokenCommits } from './broken-commits.ts';
import { brokenDocuments } from './broken-documents.ts';
import { brokenEntries } from './broken-entries.ts';
import { brokenFiles } from './broken-files.ts';
import { brokenJournals } from './broken-journals.ts';
import { brokenNotes } from './broken-notes.ts';
import { brokenPartitions } from './broken-partitions.ts';
import { brokenResets } from './broken-resets.ts';
import { type BrokenStore, breakStore } from './broken-store.ts';

const brokenStores: readonly BrokenStore[] = [
  ...brokenPartitions,
  ...brokenCommits,
  ...brokenJournals,
  ...brokenDocuments,
  ...brokenEntries,
  ...brokenNotes,
  ...brokenResets,
  ...brokenFiles,
];

describe('bugs planted in a store', () => {
  for (const broken of brokenStores) {
    it(`${broken.caughtBy} finds a store that ${broken.flaw}`, async () => {
      expect(await failures(broken)).not.toEqual([]);
    });
  }

  it('there is a planted bug against every rule that a memory store can break', () => {
    // A memory store can neither reopen nor back up, so no bugs are planted against those rules.
    const untestable = ['STORE-59', 'STORE-63'];
    const rules = new Set(storeCases.map(({ rule }) => rule).filter((rule) => !untestable.includes(rule)));
    expect(new Set(brokenStores.map(({ caughtBy }) => caughtBy))).toEqual(rules);
  });
});

/** Returns the titles of the cases of the rule that fail on the broken store. */
async function failures(broken: BrokenStore): Promise<string[]> {
  const bounds = { tombstonesPerTrimMax: 4, rowsPerTrimMax: 3 };
  const engine: StoreEngine = {
    open: async () => breakStore(openMemoryStore({ random: seededRandom(1), ...bounds }), broken),
    capabilities: bounds,
  };
  const failed: string[] = [];
  for (const storeCase of storeCases.filter(({ rule }) => rule === broken.caughtBy)) {
    try {
      await runStoreCase(storeCase, engine);
    } catch {
      failed.push(storeCase.title);
    }
  }
  return failed;
}
