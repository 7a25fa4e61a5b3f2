import { readFile } from 'node:fs/promises';
import { type Device, type LocalRow, type LocalStore, memoryStore } from '@tidemark/client';
import { newDeviceFixture, temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { aesGcmSealer, encryptedStore } from '../stores/encrypted-store.ts';
import { openFileStore } from '../stores/file-store.ts';

// What an earlier version of the SDK has stored: a source of the user and one of two groups, changes that were not sent, one that
// was sent to a group and is not acknowledged, and the last results of a query. The sealed rows are the same.

const read = async (name: string) =>
  JSON.parse(await readFile(new URL(`golden/${name}.json`, import.meta.url), 'utf8')) as readonly LocalRow[];

const STORES: Readonly<Record<string, () => Promise<LocalStore>>> = {
  'in memory': async () => memoryStore(await read('rows')),
  'in a file': async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const store = await openFileStore(folder.path);
    await store.load();
    await store.commit(await read('rows'));
    return store;
  },
  encrypted: async () => {
    const key = await crypto.subtle.importKey('raw', new Uint8Array(32).fill(7), 'AES-GCM', false, [
      'decrypt',
      'encrypt',
    ]);
    return encryptedStore(memoryStore(await read('sealed-rows')), aesGcmSealer(key));
  },
};

const SHOWN = {
  Order: [
    { id: 'o1', attributes: { n: 10 }, isPending: true },
    { id: 'o3', attributes: { n: 3 }, isPending: true },
  ],
  Visit: [
    { id: 'w', attributes: { a: 'new' }, isPending: true, groups: ['south'] },
    { id: 'x', attributes: { a: 'north', note: 'for north' }, isPending: true, groups: ['north', 'south'] },
    { id: 'y', attributes: { a: 'only north' }, isPending: false, groups: ['north'] },
    { id: 'z', attributes: { a: 'only south', seen: true }, isPending: false, groups: ['south'] },
  ],
};

const shown = (device: Device) =>
  Object.fromEntries(['Order', 'Visit'].map((source) => [source, device.source(source).list()]));

for (const [name, open] of Object.entries(STORES)) {
  for (const start of ['loaded', 'last_results'] as const) {
    it(`[SDK-45] a store of an earlier version, ${name}, opened as ${start}, shows its objects and the changes that were not sent`, async () => {
      const fixture = await newDeviceFixture();
      fixture.platform.setOnline(false);
      const device = await fixture.open({ store: await open(), user: null, start });
      await fixture.platform.until(() => !device.status.getSnapshot().isLoading);
      expect(shown(device)).toEqual(SHOWN);
      expect(device.uploads.list().map(({ op, id, state }) => `${op} ${id} ${state}`)).toEqual([
        'create o3 waiting',
        'update o1 waiting',
        'delete o2 waiting',
        'update x waiting',
        'create w waiting',
      ]);
      expect(device.status.getSnapshot()).toMatchObject({ userId: 'ada', pendingUploads: 5, problems: 0, heals: 0 });
    });
  }
}

it('[SDK-45] a group of a store of an earlier version that is no longer followed takes its objects with it', async () => {
  const fixture = await newDeviceFixture();
  fixture.platform.setOnline(false);
  const device = await fixture.open({ store: memoryStore(await read('rows')), user: null });
  await fixture.finish(device.source('Visit').follow({ groups: ['south'] }));
  const left = device.source('Visit').list();
  expect(left.map(({ id, groups }) => [id, groups])).toEqual([
    ['w', ['south']],
    ['x', ['south']],
    ['z', ['south']],
  ]);
  expect(left[1]?.attributes).toEqual({ a: 'south', note: 'for north' });
});
