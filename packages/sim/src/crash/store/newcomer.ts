import { createInterface } from 'node:readline';
import type { Store } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { say } from '../say.ts';
import { startWatchdog } from '../watchdog.ts';

/** A process that opens whatever folder it is told to, at the very moment it is told, and says which epoch it finds. */
export type NewcomerOrder =
  | { readonly do: 'open'; readonly folder: string; readonly atMs: number }
  | { readonly do: 'close' };

export type NewcomerLine =
  | { readonly say: 'open'; readonly epoch: string }
  | { readonly say: 'closed' }
  | { readonly say: 'failed'; readonly reason: string };

const LIFE_MS = 1_200_000;

class Newcomer {
  #store: Store | null = null;

  async obey(order: NewcomerOrder): Promise<NewcomerLine> {
    if (order.do === 'close') {
      await this.close();
      return { say: 'closed' };
    }
    // A timer would come a little late, and every time another little.
    while (Date.now() < order.atMs);
    this.#store = await openEmbeddedStore({ folder: order.folder });
    return { say: 'open', epoch: await this.#store.epoch() };
  }

  async close(): Promise<void> {
    await this.#store?.close();
    this.#store = null;
  }
}

startWatchdog(LIFE_MS);
const newcomer = new Newcomer();
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as NewcomerOrder;
  say(await newcomer.obey(order).catch((error) => ({ say: 'failed', reason: String(error) })));
}
await newcomer.close();
