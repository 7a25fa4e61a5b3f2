import { temporaryFolder } from '@tidemark/testing';
import { IDBFactory } from 'fake-indexeddb';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FileDirectory } from '../ports/file-directory.ts';
import { aesGcmSealer, encryptedStore } from './encrypted-store.ts';
import { openFileStore } from './file-store.ts';
import type { IndexedDbFactory } from './indexeddb.ts';
import { openIndexedDbStore } from './indexeddb-store.ts';
import { openKeyValueStore } from './key-value-store.ts';
import { memoryFiles } from './memory-files.ts';
import { memoryStore } from './memory-store.ts';

const key = globalThis.crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);

async function folderStore() {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const store = await openFileStore(folder.path);
  onTestFinished(() => store.close());
  return store;
}

const storage = {
  getAllKeys: async () => [],
  multiGet: async () => [],
  multiSet: async () => undefined,
  multiRemove: async () => undefined,
};

const STORES = {
  'a store in memory': async () => memoryStore(),
  'a folder': folderStore,
  IndexedDB: () => openIndexedDbStore({ indexedDB: new IDBFactory() as unknown as IndexedDbFactory }),
  'a directory of React Native': () => openKeyValueStore(storage, { files: memoryFiles() }),
  'an encrypted folder': async () => encryptedStore(await folderStore(), aesGcmSealer(await key)),
};

async function open(name: keyof typeof STORES): Promise<FileDirectory> {
  const store = await STORES[name]();
  const files = await store.files?.();
  if (files === undefined) throw new Error(`${name} keeps no files`);
  expect(await store.files?.()).toBe(files);
  return files;
}

describe.each(Object.keys(STORES) as (keyof typeof STORES)[])('%s', (name) => {
  it('[FILES-90] returns the bytes of an entry as they were given, the last ones if it was written twice', async () => {
    const files = await open(name);
    const bytes = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
    await files.write('a-1.0', new Uint8Array(5));
    await files.write('a-1.0', bytes);
    // A part of a larger buffer is stored alone.
    await files.write('a-1.1', bytes.subarray(10, 20));
    expect([await files.read('a-1.0'), await files.read('a-1.1')]).toEqual([bytes, bytes.slice(10, 20)]);
    expect([...(await files.list())].sort()).toEqual(['a-1.0', 'a-1.1']);
  });

  it('[FILES-90] has nothing of an entry that was deleted, and ignores names without an entry', async () => {
    const files = await open(name);
    for (const entry of ['a-1.0', 'a-1.1', 'b-1.0']) await files.write(entry, new Uint8Array(1));
    await files.delete(['a-1.0', 'a-1.1', 'nothing.0']);
    expect([await files.list(), await files.read('a-1.0')]).toEqual([['b-1.0'], null]);
    // Those that have no such call are read.
    const { has } = files;
    if (has !== undefined) expect([await has('a-1.0'), await has('b-1.0')]).toEqual([false, true]);
    expect(has !== undefined).toBe(name === 'IndexedDB');
  });
});
