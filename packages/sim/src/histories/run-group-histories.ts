import { randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Store } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { openMemoryStore, seededRandom, temporaryFolder } from '@tidemark/testing/kit';
import type { Command } from '../runner/command.ts';
import { runGroupHistory } from './group-history.ts';

const HISTORIES_DEFAULT = 2_000;
const SEEDS_BELOW = 2 ** 31;
const ENGINES = ['memory', 'embedded'] as const;

/** Stores for one history after the other. */
interface GroupStores {
  empty(seed: number): Promise<Store>;
  close(): Promise<void>;
}

async function openStores(engine: (typeof ENGINES)[number]): Promise<GroupStores> {
  if (engine === 'memory') {
    return { empty: async (seed) => openMemoryStore({ random: seededRandom(seed) }), close: async () => undefined };
  }
  const folder = await temporaryFolder();
  const store = await openEmbeddedStore({ folder: folder.path });
  return {
    empty: async () => {
      await store.reset([]);
      return store;
    },
    close: async () => {
      await store.close();
      await folder.remove();
    },
  };
}

/** Returns what is wrong after the history of this seed, or null. */
async function failureOf(stores: GroupStores, seed: number): Promise<string | null> {
  const devices = await runGroupHistory(await stores.empty(seed), seed);
  const wrong = devices.find(({ held, wanted }) => !isDeepStrictEqual(held, wanted));
  if (wrong === undefined) return null;
  const { user, held, wanted } = wrong;
  return `seed ${seed}: ${user} holds ${JSON.stringify(held)} instead of ${JSON.stringify(wanted)}`;
}

export const groupsCommand: Command = {
  name: 'groups',
  summary:
    'Random histories of grants, revokes, moves and lost answers: every device ends with the union of its groups.',
  options: [
    { name: 'histories', value: 'N', help: `how many histories to run (default ${HISTORIES_DEFAULT})` },
    { name: 'seed', value: 'S', help: 'the first seed; the others follow it (default: random)' },
    { name: 'engine', value: 'E', help: `${ENGINES.join(', ')} (default ${ENGINES[0]})` },
  ],
  async run(options) {
    const histories = options.number('histories') ?? HISTORIES_DEFAULT;
    const first = options.number('seed') ?? randomInt(SEEDS_BELOW);
    const engine = options.choice('engine', ENGINES);
    const stores = await openStores(engine);
    try {
      for (let seed = first; seed < first + histories; seed++) {
        const failure = await failureOf(stores, seed);
        if (failure === null) continue;
        process.stdout.write(`${failure}\n`);
        return 1;
      }
    } finally {
      await stores.close();
    }
    process.stdout.write(`groups on ${engine}: ${histories} histories from seed ${first}: all passed\n`);
    return 0;
  },
};
