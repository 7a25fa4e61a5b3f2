import type { Store } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { openValkeyStores } from '@tidemark/store-valkey';
import { openMemoryStore, seededRandom, startValkey, startValkeyCluster, temporaryFolder } from '@tidemark/testing/kit';
import { type Delays, delayedStore, TIMER_DELAYS } from '../faults/delayed-store.ts';
import { FallBack } from '../faults/fall-back.ts';
import { smallSlices } from '../faults/small-slices.ts';
import type { MakeServer } from './server-under-test.ts';
import { tidemarkServer } from './tidemark-server.ts';

export const ENGINES = ['memory', 'embedded', 'valkey', 'valkey-cluster'] as const;

export type Engine = (typeof ENGINES)[number];

/** An open store on an engine. It serves one history at a time. */
export interface OpenEngine {
  readonly makeServer: MakeServer;
  readonly close: () => Promise<void>;
}

/**
 * How many histories run side by side on an engine, each on a store of its own: stores wait for their disk or server most
 * of the time. Stores on one Valkey server share a connection, which sends their requests together.
 */
const STORES: Readonly<Record<Engine, number>> = { memory: 1, embedded: 4, valkey: 96, 'valkey-cluster': 96 };

export async function openEngines(engine: Engine): Promise<readonly OpenEngine[]> {
  const count = STORES[engine];
  if (engine === 'memory') return [{ makeServer: memoryServer(), close: async () => undefined }];
  if (engine === 'embedded') return Promise.all(Array.from({ length: count }, openEmbedded));
  return openValkeys(engine, count);
}

/** Makes a server on a new memory store for every history. `plant` may put a bug between the server and its store. */
export function memoryServer(plant: (store: Store) => Store = (store) => store): MakeServer {
  return (options) => {
    const memory = openMemoryStore({ random: seededRandom(options.seed + 2) });
    const store = delayedStore(plant(smallSlices(memory)), options.delaySeed);
    return tidemarkServer(store, options, new FallBack(memory));
  };
}

/**
 * Opens one store for many histories and empties it before each, because opening a store takes as long as twenty
 * histories. An emptied store must be as good as a new one, so this hides nothing.
 */
async function openEmbedded(): Promise<OpenEngine> {
  const folder = await temporaryFolder();
  const store = await openEmbeddedStore({ folder: folder.path });
  return engineOn(store, folder.remove);
}

/** These histories do not test how promptly a server answers on a busy machine. */
const ANSWER_MS_MAX = 300_000;

/** Opens stores that share a server or a cluster. It ends with the last of them. */
async function openValkeys(engine: 'valkey' | 'valkey-cluster', count: number): Promise<readonly OpenEngine[]> {
  // These histories do not test what survives a crash.
  const settings = { appendonly: 'no' };
  const servers = engine === 'valkey' ? await startValkey({ settings }) : await startValkeyCluster(settings);
  let open = count;
  const release = async () => {
    open -= 1;
    if (open === 0) await servers.remove();
  };
  const prefixes = Array.from({ length: count }, (_, index) => `lane ${index}:`);
  const stores = await openValkeyStores({ address: servers.address, answerMs: ANSWER_MS_MAX }, prefixes);
  return stores.map((store) => engineOn(store, release, TIMER_DELAYS));
}

function engineOn(store: Store, release: () => Promise<void>, delays?: Delays): OpenEngine {
  return {
    makeServer: async (options) => {
      await store.reset([]);
      const sliced = smallSlices(store);
      const slowed = delays === undefined ? sliced : delayedStore(sliced, options.delaySeed, delays);
      return tidemarkServer(slowed, options);
    },
    close: async () => {
      await store.close();
      await release();
    },
  };
}
