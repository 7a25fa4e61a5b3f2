import { resolveObjectURL } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LocalStore } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture, temporaryFolder } from '@tidemark/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FILE_ORPHAN_MS } from '../limits.ts';
import { aesGcmSealer, encryptedStore, type Sealer } from '../stores/encrypted-store.ts';
import { openFileStore } from '../stores/file-store.ts';
import { memoryStore } from '../stores/memory-store.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
});

const password = 'long enough';
const SECRET = new TextEncoder().encode('the secret of the roof');
const entriesOf = async (store: LocalStore) => (await (await store.files?.())?.list()) ?? [];

function lasting(): LocalStore {
  const store = memoryStore();
  return { load: () => store.load(), commit: store.commit, close: async () => undefined, files: store.files as never };
}

/** A promise, and the function that resolves it. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A device of ada with a file that was not sent. */
async function used(store: LocalStore) {
  const device = await fixture.open({ store });
  fixture.platform.setOnline(false);
  const file = await device.files.add(SECRET, { type: 'text/plain' });
  return { device, file };
}

describe('leaving', () => {
  it('[FILES-87] signing out is refused while a file waits, and deletes all bytes if the app insists', async () => {
    const store = lasting();
    const { device, file } = await used(store);
    const refusal = {
      code: 'uploads_pending',
      detail: '1 file made here and not sent yet would be lost',
    };
    await expect(device.signOut()).rejects.toMatchObject(refusal);
    await device.signOut({ discardUploads: true });
    expect([await entriesOf(store), device.files.state(file).getSnapshot()]).toEqual([[], { status: 'missing' }]);
    await fixture.finish(device.close());
  });

  it('[FILES-87] another user who signs in finds no bytes of the one before, and can add files at once', async () => {
    const store = lasting();
    const { device } = await used(store);
    fixture.platform.setOnline(true);
    await fixture.finish(device.signIn({ login: 'bob', password }, { discardUploads: true }));
    const own = await fixture.finish(device.files.add(new Uint8Array(3)));
    await fixture.platform.until(() => device.files.state(own).getSnapshot().status === 'uploaded');
    expect(await entriesOf(store)).toHaveLength(1);
    await fixture.finish(device.close());
  });

  it('[FILES-87] an addition that another user interrupts is refused, and leaves no bytes', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    let goOn = () => {};
    const waiting = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const slowly = (async function* () {
      yield new Uint8Array(2_000_000);
      await waiting;
      yield SECRET;
    })();
    const adding = device.files.add(slowly);
    const refused = expect(adding).rejects.toMatchObject({ code: 'signed_out' });
    await fixture.finish(device.signIn({ login: 'bob', password }));
    goOn();
    await fixture.finish(refused);
    expect(await entriesOf(store)).toEqual([]);
    await fixture.finish(device.close());
  });

  it('[FILES-87] bytes that could not be deleted are deleted at the next start, and a wipe is confirmed only then', async () => {
    const store = lasting();
    const { device } = await used(store);
    const { clientId } = device.status.getSnapshot();
    const directory = await store.files?.();
    if (directory === undefined) throw new Error('the store keeps files');
    const { list } = directory;
    const broken = Object.assign(directory, { list: () => Promise.reject(new Error('the disk is broken')) });
    await fixture.tidemark.clients.wipes.order(clientId ?? '', 'admin');
    fixture.platform.setOnline(true);
    device.sync().catch(() => undefined);
    await fixture.platform.until(() => device.status.getSnapshot().mode === 'signed_out');
    await fixture.platform.advance(1_000);
    const wiped = async () => (await fixture.tidemark.clients.get(clientId)).wipe?.confirmed_at ?? null;
    expect(await wiped()).toBeNull();
    await fixture.finish(device.close());
    Object.assign(broken, { list });
    expect(await entriesOf(store)).toHaveLength(1);
    const again = await fixture.open({ store, user: null });
    let confirmed: string | null = null;
    await fixture.platform.until(() => {
      void wiped().then((at) => {
        confirmed = at;
      });
      return confirmed !== null;
    });
    expect(await entriesOf(store)).toEqual([]);
    await fixture.finish(again.close());
  });

  it('[FILES-87] an address for a file that was begun for one user is not given to the next', async () => {
    const store = lasting();
    const directory = await store.files?.();
    if (directory === undefined) throw new Error('the store keeps files');
    const { device, file } = await used(store);
    const { read } = directory;
    const [begun, slow] = [gate(), gate()];
    Object.assign(directory, {
      read: async (name: string) => {
        const bytes = await read(name);
        begun.open();
        await slow.opened;
        return bytes;
      },
    });
    const refused = expect(device.files.url(file)).rejects.toMatchObject({ code: 'signed_out' });
    await fixture.finish(begun.opened);
    fixture.platform.setOnline(true);
    await fixture.finish(device.signIn({ login: 'bob', password }, { discardUploads: true }));
    slow.open();
    await fixture.finish(refused);
    await fixture.finish(device.close());
  });

  it('[FILES-87] signing out and closing the device release every address of a file', async () => {
    for (const leave of ['signOut', 'close'] as const) {
      const { device, file } = await used(lasting());
      const urls = [await device.files.url(file), await device.files.url(file)].map(({ url }) => url);
      expect(urls.map((url) => resolveObjectURL(url)?.size)).toEqual([SECRET.length, SECRET.length]);
      await fixture.finish(leave === 'close' ? device.close() : device.signOut({ discardUploads: true }));
      expect(urls.map((url) => resolveObjectURL(url))).toEqual([undefined, undefined]);
      await fixture.finish(device.close());
      fixture.platform.setOnline(true);
    }
  });

  it('[FILES-87] a file that waits for long is still there when the app starts again', async () => {
    const store = lasting();
    const { device, file } = await used(store);
    await fixture.finish(device.close());
    await fixture.platform.advance(FILE_ORPHAN_MS + 1);
    const again = await fixture.open({ store });
    await again.files.add(new Uint8Array(1));
    await fixture.finish(again.close());
    expect(await entriesOf(store)).toHaveLength(2);
    const last = await fixture.open({ store });
    expect(new Uint8Array(await (await last.files.blob(file)).arrayBuffer())).toEqual(SECRET);
    await fixture.finish(last.close());
  });

  it('[FILES-87] bytes that a killed process has begun to add are deleted after a while', async () => {
    const store = lasting();
    const directory = await store.files?.();
    await directory?.write(`${(fixture.platform.nowMs() - 3_600_001).toString(36)}-00.0`, SECRET);
    await directory?.write(`${fixture.platform.nowMs().toString(36)}-01.0`, SECRET);
    const { device } = await used(store);
    await fixture.finish(device.close());
    expect((await entriesOf(store)).map((name) => name.split('-')[1]?.slice(0, 2)).sort()).toContain('01');
    expect(await entriesOf(store)).toHaveLength(2);
  });
});

describe('encryption at rest', () => {
  const key = globalThis.crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);

  it.each([
    ['bytes', false],
    ['texts only', true],
  ])(
    '[FILES-88] an encrypted store with a sealer of %s holds no readable byte of a file, and shows it',
    async (_, isOfTexts) => {
      const { seal, open, ...bytes } = aesGcmSealer(await key);
      const sealer: Sealer = isOfTexts ? { seal, open } : { seal, open, ...bytes };
      const folder = await temporaryFolder();
      onTestFinished(folder.remove);
      const store = encryptedStore(await openFileStore(folder.path), sealer);
      const { device, file } = await used(store);
      expect(await (await device.files.blob(file)).text()).toBe('the secret of the roof');
      const [name = ''] = await entriesOf(store);
      const stored = await readFile(join(folder.path, 'files', name));
      expect(stored.includes('secret')).toBe(false);
      expect(stored.includes(Buffer.from(SECRET).toString('base64').slice(4, 20))).toBe(false);
      const other = encryptedStore(
        { ...memoryStore(), files: async () => ({ ...memoryDirectory, read: async () => new Uint8Array(stored) }) },
        sealer,
      );
      await expect((await other.files?.())?.read('another-name.0')).rejects.toMatchObject({ code: 'store_damaged' });
      // The disk takes real time.
      await device.close();
    },
  );
});

const memoryDirectory = { write: async () => undefined, delete: async () => undefined, list: async () => [] };
