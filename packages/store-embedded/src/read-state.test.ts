import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from './embedded-store.ts';
import { keyOf } from './keys.ts';
import { MAP_BYTES, openTables } from './tables.ts';

const REF = { kind: 'setting', key: ['shared'] } as const;

/** A store, and a way to write into its file that it does not hear of, as another process would. */
async function setUp() {
  const folder = await temporaryFolder();
  const store = await openEmbeddedStore({ folder: folder.path });
  const tables = openTables(join(folder.path, 'store.mdb'), { mapBytes: MAP_BYTES });
  onTestFinished(async () => {
    await tables.root.close();
    await store.close();
    await folder.remove();
  });
  const writeElsewhere = (value: string) => void tables.entries.putSync(keyOf(REF.kind, ...REF.key), `1 ${value}`);
  const read = async () => (await store.readEntry(REF))?.value;
  return { writeElsewhere, read };
}

/** Follows as many promises as the work of a request may, one after the other. */
async function followPromises(): Promise<void> {
  for (let count = 0; count < 20; count++) await Promise.resolve();
}

const nextEvent = () => new Promise<void>((resolve) => setImmediate(resolve));

it('[STORE-5] reads within one event answer from one moment, however many promises lie between them', async () => {
  const { writeElsewhere, read } = await setUp();
  writeElsewhere('old');
  const seen = await new Promise<unknown>((resolve) => {
    // Begun by the event itself and not by a promise, as requests are.
    setImmediate(() => {
      const first = read();
      writeElsewhere('new');
      resolve(first.then(async (value) => [value, await followPromises(), await read()]));
    });
  });
  expect(seen).toEqual(['old', undefined, 'old']);
  await nextEvent();
  expect(await read()).toBe('new');
});

it('[STORE-5] the next event sees what others have written meanwhile', async () => {
  const { writeElsewhere, read } = await setUp();
  for (const value of ['a', 'b', 'c']) {
    await read();
    writeElsewhere(value);
    await nextEvent();
    expect(await read()).toBe(value);
  }
});
