import type { Store } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { seededRandom } from '../kit/seeded-random.ts';
import { temporaryFolder } from '../kit/temporary-folder.ts';
import { openMemoryStore } from '../memory-store/open-memory-store.ts';
import { jitterStore } from './jitter-store.ts';
import type { MakeSubject } from './subject.ts';
import { tidemarkSubject } from './tidemark-subject.ts';

export type Engine = 'memory' | 'embedded';

export const ENGINES: readonly Engine[] = ['memory', 'embedded'];

/** Servers on an engine, one history at a time. */
export interface Bench {
  readonly makeSubject: MakeSubject;
  readonly close: () => Promise<void>;
}

export async function openBench(engine: Engine): Promise<Bench> {
  return engine === 'memory' ? { makeSubject: memorySubject(), close: async () => undefined } : openEmbeddedBench();
}

/** A new store for every history. `between` stands between server and store: the place for bugs of an engine. */
export function memorySubject(between: (store: Store) => Store = (store) => store): MakeSubject {
  return (surroundings) => {
    const store = openMemoryStore({ random: seededRandom(surroundings.seed + 2) });
    return tidemarkSubject(jitterStore(between(store), surroundings.weather), surroundings);
  };
}

/**
 * One store for many histories, emptied before each, because opening one takes as long as twenty of them. A store that
 * was emptied must be as good as a new one, so this hides nothing; it may only show more.
 */
async function openEmbeddedBench(): Promise<Bench> {
  const folder = await temporaryFolder();
  const store = await openEmbeddedStore({ folder: folder.path });
  return {
    makeSubject: async (surroundings) => {
      await store.reset([]);
      return tidemarkSubject(store, surroundings);
    },
    close: async () => {
      await store.close();
      await folder.remove();
    },
  };
}
