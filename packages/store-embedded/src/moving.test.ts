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

describe('data folders of a migration', () => {
  async function newFolder(): Promise<string> {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    return join(folder.path, 'data');
  }

  const openAndClose = async (folder: string, opening: Opening) => {
    await (await openEmbeddedStore({ folder, opening })).close();
  };

  it('[MIGRATE-4] a target is marked as incomplete before anything is written, and is cleaned only on demand', async () => {
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
    await again.setMigrationState(null);
    await again.close();
    await openAndClose(folder, { as: 'server' });
  });

  it('[MIGRATE-4] a folder that is not empty is refused as a target, with or without --clean, and left untouched', async () => {
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

  it('[MIGRATE-4] a moved folder is a source only on demand, and a backup or an empty folder is refused as a source', async () => {
    const folder = await newFolder();
    await expect(openAndClose(folder, { as: 'source', isMovedAllowed: true })).rejects.toThrow(/not a Tidemark data/);
    expect(existsSync(folder)).toBe(false);
    const store = await openEmbeddedStore({ folder });
    const copy = await newFolder();
    await store.backup(copy);
    await store.setMigrationState({ state: 'moved', to: 'valkey://new' });
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
    await store.setMigrationState({ state: 'moving', to: 'valkey://new' });
    await store.close();
    await expect(openAndClose(folder, { as: 'server' })).rejects.toThrow(
      /was being moved to valkey:\/\/new; .*--release/,
    );
    await expect(openAndClose(folder, { as: 'target', isCleaned: true })).rejects.toThrow(/is not empty/);
    await openAndClose(folder, { as: 'source', isMovedAllowed: false });
  });

  it('[MIGRATE-4] a store that was not opened as a target refuses imports', async () => {
    const store = await openEmbeddedStore({ folder: await newFolder() });
    onTestFinished(() => store.close());
    await expect(store.beginImport({ epoch: 'e', lastVersion: 1 })).rejects.toThrow(
      /only a store that was opened as the target/,
    );
    await expect(store.import([])).rejects.toThrow(/only a store that was opened as the target/);
  });
});
