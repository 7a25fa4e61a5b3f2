import { type Log, type Store, Tidemark } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { seededRandom, settableClock, weakPasswords } from '@tidemark/testing/kit';

const silent = () => undefined;

/** A warning means that the server gave something up, which no run may cause. */
const log: Log = {
  debug: silent,
  info: silent,
  warn(event, fields) {
    throw new Error(`the server warned: ${event} ${JSON.stringify(fields)}`);
  },
  error(event, fields) {
    throw new Error(`the server logged an error: ${event} ${JSON.stringify(fields)}`);
  },
};

/** Opens the core on the store in a folder. Its clock stands still, at the same time in every process. */
export async function openTidemark(folder: string): Promise<Tidemark> {
  return tidemarkOn(await openEmbeddedStore({ folder }));
}

function tidemarkOn(store: Store): Tidemark {
  const random = seededRandom(1);
  return new Tidemark({ store, clock: settableClock(), random, passwords: weakPasswords(random), log });
}
