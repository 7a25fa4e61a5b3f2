import { describe, expect, it } from 'vitest';
import { runStoreCase } from '../../contracts/store/run-store-case.ts';
import type { StoreEngine } from '../../contracts/store/store-case.ts';
import { storeCases } from '../../contracts/store/store-cases.ts';
import { seededRandom } from '../../kit/seeded-random.ts';
import { openMemoryStore } from '../open-memory-store.ts';
import { brokenCommits } from './broken-commits.ts';
import { brokenDocuments } from './broken-documents.ts';
import { brokenEntries } from './broken-entries.ts';
import { brokenJournals } from './broken-journals.ts';
import { brokenLives } from './broken-lives.ts';
import { brokenNotes } from './broken-notes.ts';
import { brokenPartitions } from './broken-partitions.ts';
import { type BrokenStore, breakStore } from './broken-store.ts';

const brokenStores: readonly BrokenStore[] = [
  ...brokenPartitions,
  ...brokenCommits,
  ...brokenJournals,
  ...brokenDocuments,
  ...brokenEntries,
  ...brokenNotes,
  ...brokenLives,
];

describe('the contract notices a store that', () => {
  for (const broken of brokenStores) {
    it(`${broken.flaw}, by ${broken.caughtBy}`, async () => {
      expect(await failures(broken)).not.toEqual([]);
    });
  }

  it('breaks any rule that a memory store can break', () => {
    // Reopening and backups are beyond a memory store; the engines that can do it keep those rules.
    const beyond = ['STORE-59', 'STORE-63'];
    const rules = new Set(storeCases.map(({ rule }) => rule).filter((rule) => !beyond.includes(rule)));
    expect(new Set(brokenStores.map(({ caughtBy }) => caughtBy))).toEqual(rules);
  });
});

/** The titles of the cases of the rule that fail on the broken store. */
async function failures(broken: BrokenStore): Promise<string[]> {
  const bounds = { gravesPerTrimMax: 4, rowsPerTrimMax: 3 };
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
