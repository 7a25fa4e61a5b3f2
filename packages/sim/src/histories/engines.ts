import type { Store } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { openValkeyStores } from '@tidemark/store-valkey';
import { openMemoryStore, seededRandom, startValkey, startValkeyCluster, temporaryFolder } from '@tidemark/testing/kit';
import { BY_SERVER, jitterStore, type Tempo } from './jitter-store.ts';
import { narrowSlices } from './narrow-slices.ts';
import type { MakeSubject } from './subject.ts';
import { tidemarkSubject } from './tidemark-subject.ts';

export type Engine = 'memory' | 'embedded' | 'valkey' | 'valkey-cluster';

export const ENGINES: readonly Engine[] = ['memory', 'embedded', 'valkey', 'valkey-cluster'];

/** Servers on an engine, one history at a time. */
export interface Bench {
  readonly makeSubject: MakeSubject;
  readonly close: () => Promise<void>;
}

/** So many of them, each with a store of its own, for histories side by side. */
export async function openBenches(engine: Engine, count: number): Promise<readonly Bench[]> {
  if (engine === 'memory' || engine === 'embedded') {
    return Promise.all(Array.from({ length: count }, () => openBench(engine)));
  }
  return openValkeyBenches(engine, count);
}

export async function openBench(engine: Engine): Promise<Bench> {
  if (engine === 'memory') return { makeSubject: memorySubject(), close: async () => undefined };
  if (engine === 'embedded') return openEmbeddedBench();
  const [bench] = await openValkeyBenches(engine, 1);
  if (bench === undefined) throw new Error('no bench was opened');
  return bench;
}

/** A new store for every history. `between` stands between server and store: the place for bugs of an engine. */
export function memorySubject(between: (store: Store) => Store = (store) => store): MakeSubject {
  return (surroundings) => {
    const store = narrowSlices(openMemoryStore({ random: seededRandom(surroundings.seed + 2) }));
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
  return storeBench(store, folder.remove);
}

/** How promptly a server answers on a busy machine is no matter of these histories. */
const PATIENCE_MS = 300_000;

/** Stores that share a server or a cluster, and the way to it; it ends with the last of them. */
async function openValkeyBenches(engine: 'valkey' | 'valkey-cluster', count: number): Promise<readonly Bench[]> {
  // What survives a crash is no concern of these histories.
  const settings = { appendonly: 'no' };
  const servers = engine === 'valkey' ? await startValkey({ settings }) : await startValkeyCluster(settings);
  let open = count;
  const release = async () => {
    open -= 1;
    if (open === 0) await servers.remove();
  };
  const prefixes = Array.from({ length: count }, (_, index) => `lane ${index}:`);
  const stores = await openValkeyStores({ address: servers.address, answerMs: PATIENCE_MS }, prefixes);
  return stores.map((store) => storeBench(store, release, BY_SERVER));
}

/** Without a tempo, as promptly as the engine is. */
function storeBench(store: Store, release: () => Promise<void>, tempo?: Tempo): Bench {
  return {
    makeSubject: async (surroundings) => {
      await store.reset([]);
      const narrow = narrowSlices(store);
      const slowed = tempo === undefined ? narrow : jitterStore(narrow, surroundings.weather, tempo);
      return tidemarkSubject(slowed, surroundings);
    },
    close: async () => {
      await store.close();
      await release();
    },
  };
}
