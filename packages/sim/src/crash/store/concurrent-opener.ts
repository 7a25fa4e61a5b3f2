import { createInterface } from 'node:readline';
import type { Store } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { runAsWorker, writeLine } from '../../processes/worker.ts';

/** A line of its input: it opens a folder exactly at the given time, or closes it. */
type OpenerCommand = { readonly do: 'open'; readonly folder: string; readonly atMs: number } | { readonly do: 'close' };

type OpenerLine =
  | { readonly say: 'open'; readonly epoch: string }
  | { readonly say: 'closed' }
  | { readonly say: 'failed'; readonly reason: string };

const LIFE_MS = 1_200_000;
let store: Store | null = null;

async function perform(command: OpenerCommand): Promise<OpenerLine> {
  if (command.do === 'close') {
    await store?.close();
    store = null;
    return { say: 'closed' };
  }
  // A timer would fire a little late, each time by another amount.
  while (Date.now() < command.atMs);
  store = await openEmbeddedStore({ folder: command.folder });
  return { say: 'open', epoch: await store.epoch() };
}

await runAsWorker(LIFE_MS, async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line) as OpenerCommand;
    writeLine(await perform(command).catch((error) => ({ say: 'failed', reason: String(error) })));
  }
  await store?.close();
});
