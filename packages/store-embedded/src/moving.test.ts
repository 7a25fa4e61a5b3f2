import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MovableStore } from '@tidemark/core';
import { movingContract, temporaryFolder } from '@tidemark/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Opening } from './data-folder.ts';
import { type EmbeddedStore, openEmbeddedStore } from './open-store.ts';

const TARGET: Opening = { as: 'target', isCleaned: false };
const folders = new Map<MovableStore, string>();
const removals: (() => Promise<void>)[] = [];

afterAll(async () => {
  for (const remove of removals) await remove();
});

async function open(opening: Opening): Promise<EmbeddedStore> {
  const folder = await temporaryFolder();
  removals.push(folder.remove);
  const store = await openEmbeddedStore({ folder: folder.path, opening });
  folders.set(store, folder.path);
  return store;
}

movingContract('the embedded store', {
  open: () => open({ as: 'server' }),
  openTarget: () => open(TARGET),
  serve: (closed) => openEmbeddedStore({ folder: folders.get(closed) ?? '' }),
  jobs: (store, clock) => (store as EmbeddedStore).jobs({ clock }),
});

describe('a folder', () => {
  async function newFolder(): Promise<string> {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    return join(folder.path, 'data');
  }

  const openAndClose = async (folder: string, opening: Opening) => {
    await (await openEmbeddedStore({ folder, opening })).close();
  };

  it('[MIGRATE-4] is marked as incomplete before anything is in it, and is cleaned only on demand', async () => {
    const folder = await newFolder();
    const store = await openEmbeddedStore({ folder, opening: TARGET });
    expect(JSON.parse(readFileSync(join(folder, 'tidemark.json'), 'utf8'))).toMatchObject({ state: 'incomplete' });
    await store.beginImport({ epoch: 'e', lastVersion: 7 });
    await store.import([{ what: 'entry', key: ['user', 'ann'], value: '{}', version: 3 }]);
    await store.close();
    await expect(openAndClose(folder, TARGET)).rejects.toThrow(/broken off; add --clean/);
    await expect(openAndClose(folder, { as: 'source', isMovedAllowed: true })).rejects.toThrow(/broken off/);
    const again = await openEmbeddedStore({ folder, opening: { as: 'target', isCleaned: true } });
    onTestFinished(() => again.close());
    expect(await again.countEntries('user')).toBe(0);
    await again.setSeal(null);
    await again.close();
    await openAndClose(folder, { as: 'server' });
  });

  it('[MIGRATE-4] that is not empty is no target, with --clean or without, and is left untouched', async () => {
    const folder = await newFolder();
    mkdirSync(folder);
    writeFileSync(join(folder, 'holiday.jpg'), '');
    for (const isCleaned of [true, false]) {
      await expect(openAndClose(folder, { as: 'target', isCleaned })).rejects.toThrow(/holiday.jpg/);
    }
    expect(existsSync(join(folder, 'tidemark.json'))).toBe(false);
    const used = await newFolder();
    await openAndClose(used, { as: 'server' });
    for (const isCleaned of [true, false]) {
      await expect(openAndClose(used, { as: 'target', isCleaned })).rejects.toThrow(/is not empty/);
    }
    await openAndClose(used, { as: 'server' });
  });

  it('[MIGRATE-4] that was moved is read again only on demand, and a backup or nothing at all is no source', async () => {
    const folder = await newFolder();
    await expect(openAndClose(folder, { as: 'source', isMovedAllowed: true })).rejects.toThrow(/not a Tidemark data/);
    expect(existsSync(folder)).toBe(false);
    const store = await openEmbeddedStore({ folder });
    const copy = await newFolder();
    await store.backup(copy);
    await store.setSeal({ state: 'moved', to: 'valkey://new' });
    await store.close();
    await expect(openAndClose(copy, { as: 'source', isMovedAllowed: true })).rejects.toThrow(/is a backup; restore/);
    await expect(openAndClose(folder, { as: 'source', isMovedAllowed: false })).rejects.toThrow(
      /moved to valkey:\/\/new/,
    );
    await openAndClose(folder, { as: 'source', isMovedAllowed: true });
    await expect(openAndClose(folder, { as: 'server' })).rejects.toThrow(/moved to valkey:\/\/new/);
  });

  it("[MIGRATE-4] that was being moved is read again by the next migration, and is nobody else's target", async () => {
    const folder = await newFolder();
    const store = await openEmbeddedStore({ folder });
    await store.setSeal({ state: 'moving', to: 'valkey://new' });
    await store.close();
    await expect(openAndClose(folder, { as: 'server' })).rejects.toThrow(
      /was being moved to valkey:\/\/new; .*--release/,
    );
    await expect(openAndClose(folder, { as: 'target', isCleaned: true })).rejects.toThrow(/is not empty/);
    await openAndClose(folder, { as: 'source', isMovedAllowed: false });
  });

  it('[MIGRATE-4] that was not opened to be filled is not filled', async () => {
    const store = await openEmbeddedStore({ folder: await newFolder() });
    onTestFinished(() => store.close());
    await expect(store.beginImport({ epoch: 'e', lastVersion: 1 })).rejects.toThrow(/not opened to be filled/);
    await expect(store.import([])).rejects.toThrow(/not opened to be filled/);
  });
});
