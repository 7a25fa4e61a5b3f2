import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { keyOf } from './keys.ts';
import { openEmbeddedStore } from './open-store.ts';
import { ReadState } from './read-state.ts';
import { MAP_BYTES, openTables } from './tables.ts';

const REF = { kind: 'setting', key: ['shared'] } as const;

/** A store, and a way to write into its file behind its back, as another process would. */
async function setUp() {
  const folder = await temporaryFolder();
  const store = await openEmbeddedStore({ folder: folder.path });
  const tables = openTables(join(folder.path, 'store.mdb'), { mapBytes: MAP_BYTES });
  onTestFinished(async () => {
    await tables.root.close();
    await store.close();
    await folder.remove();
  });
  const writeFromOutside = (value: string) => void tables.entries.putSync(keyOf(REF.kind, ...REF.key), `1 ${value}`);
  const read = async () => (await store.readEntry(REF))?.value;
  return { store, writeFromOutside, read };
}

/** Awaits as many settled promises as the work of a request may, one after the other. */
async function followPromises(): Promise<void> {
  for (let count = 0; count < 20; count++) await Promise.resolve();
}

const nextEvent = () => new Promise<void>((resolve) => setImmediate(resolve));

it('[EMB-11] all reads of one event see the same state, however many promises settle between them', async () => {
  const { writeFromOutside, read } = await setUp();
  writeFromOutside('old');
  const seen = await new Promise<unknown>((resolve) => {
    // The event itself begins the read, and not a promise, as with requests.
    setImmediate(() => {
      const first = read();
      writeFromOutside('new');
      resolve(first.then(async (value) => [value, await followPromises(), await read()]));
    });
  });
  expect(seen).toEqual(['old', undefined, 'old']);
  await nextEvent();
  expect(await read()).toBe('new');
});

it('[EMB-11] the next event sees what other processes have committed meanwhile', async () => {
  const { writeFromOutside, read } = await setUp();
  for (const value of ['a', 'b', 'c']) {
    await read();
    writeFromOutside(value);
    await nextEvent();
    expect(await read()).toBe(value);
  }
});

it('[EMB-11] a write in flight is invisible until it is committed, and whoever awaits it sees it', async () => {
  const { store, read } = await setUp();
  for (let round = 1; round <= 20; round++) {
    const before = await read();
    const isDone = store.writeEntries({ writes: [{ ...REF, value: `${round}` }], guards: [] });
    // The writer thread works meanwhile; within this event nothing changes.
    const inFlight = await read();
    await isDone;
    expect([inFlight, await read()]).toEqual([before, `${round}`]);
  }
});

it('[EMB-11] reads are refused while the state has a reason to be unavailable', async () => {
  const folder = await temporaryFolder();
  const tables = openTables(join(folder.path, 'store.mdb'), { mapBytes: MAP_BYTES });
  onTestFinished(async () => {
    await tables.root.close();
    await folder.remove();
  });
  let reason: string | null = null;
  const state = new ReadState(tables, () => reason);
  expect(state.tables()).toBe(tables);
  reason = 'the writer thread died';
  expect(() => state.tables()).toThrow('the writer thread died');
});
