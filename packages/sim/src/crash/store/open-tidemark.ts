import { type Log, type Store, Tidemark } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { seededRandom, settableClock, weakPasswords } from '@tidemark/testing/kit';

const silent = () => undefined;

/** A warning means that something was given up silently; nothing may be, here. */
const log: Log = {
  debug: silent,
  info: silent,
  warn(event, fields) {
    throw new Error(`the server warned: ${event} ${JSON.stringify(fields)}`);
  },
  error(event, fields) {
    throw new Error(`the server complained: ${event} ${JSON.stringify(fields)}`);
  },
};

/** The whole server on the store in a folder. The clock stands still, in every process at the same moment. */
export async function openTidemark(folder: string): Promise<Tidemark> {
  return tidemarkOn(await openEmbeddedStore({ folder }));
}

export function tidemarkOn(store: Store): Tidemark {
  const random = seededRandom(1);
  return new Tidemark({ store, clock: settableClock(), random, passwords: weakPasswords(random), log });
}
