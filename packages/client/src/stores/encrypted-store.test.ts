import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LocalStore } from '@tidemark/client';
import { localStoreCases } from '@tidemark/client-testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { aesGcmSealer, encryptedStore } from './encrypted-store.ts';
import { openFileStore } from './file-store.ts';

const newKey = () =>
  globalThis.crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'encrypted-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function contentOf(folder: string): Promise<string> {
  const names = await readdir(folder);
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}

const engine = {
  isDurable: true,
  async newPlace() {
    const folder = await mkdtemp(join(tmpdir(), 'encrypted-'));
    const sealer = aesGcmSealer(await newKey());
    return {
      open: async () => encryptedStore(await openFileStore(folder), sealer),
      remove: () => rm(folder, { recursive: true, force: true }),
    };
  },
};

describe('the contract of local stores', () => {
  for (const { title, run } of localStoreCases) it(`${title} (encrypted)`, () => run(engine));
});

describe('encryption at rest', () => {
  it('[SEAL-1] the files of an encrypted store hold no value, no key and no token', async () => {
    const folder = await newFolder();
    const store = encryptedStore(await openFileStore(folder), aesGcmSealer(await newKey()));
    await store.commit([
      { table: 'objects', key: ['Order', 'secret-id'], value: { text: 'secret value' } },
      { table: 'facts', key: ['', 'session'], value: { token: 'secret token' } },
    ]);
    await store.close();
    expect(await contentOf(folder)).not.toMatch(/secret|Order|session/);
  });

  it('[SEAL-2] another key, changed data and a row in the place of another are refused as store_damaged', async () => {
    const folder = await newFolder();
    const sealer = aesGcmSealer(await newKey());
    const files = await openFileStore(folder);
    const store = encryptedStore(files, sealer);
    await store.commit(['a', 'b'].map((id) => ({ table: 'objects', key: ['Order', id], value: { id } }) as const));
    const [one, other] = await files.load();
    const refused = (broken: LocalStore) => expect(broken.load()).rejects.toMatchObject({ code: 'store_damaged' });
    await refused(encryptedStore(files, aesGcmSealer(await newKey())));
    const swapped = { ...files, load: async () => [{ ...one, value: other?.value }] } as unknown as LocalStore;
    await refused(encryptedStore(swapped, sealer));
    const plain = { ...files, load: async () => [{ ...one, value: { id: 'x' } }] } as unknown as LocalStore;
    await refused(encryptedStore(plain, sealer));
    expect(await encryptedStore(files, sealer).load()).toHaveLength(2);
    await files.close();
  });
});
