import { createHash } from 'node:crypto';
import type { Device, FileValue, LocalStore } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { IDBFactory } from 'fake-indexeddb';
import { beforeEach, describe, expect, it } from 'vitest';
import { FILE_ENTRY_BYTES, FILE_PIECE_BYTES } from '../limits.ts';
import { answered, type IndexedDbFactory } from '../stores/indexeddb.ts';
import { openIndexedDbStore } from '../stores/indexeddb-store.ts';
import { memoryStore } from '../stores/memory-store.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
});

const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const isAt = (device: Device, file: FileValue, status: string) => () =>
  device.files.state(file).getSnapshot().status === status;

/** Bytes of which no two pieces are equal. */
function bytesOf(count: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; at += 1_000) bytes.fill(1 + (at % 253), at, at + 1_000);
  return bytes;
}

async function directoryOf(store: LocalStore) {
  const directory = await store.files?.();
  if (directory === undefined) throw new Error('the store keeps files');
  return directory;
}

/** A store that outlives its device, and takes entries of so many bytes. */
async function lasting(entryBytes: number | undefined): Promise<LocalStore> {
  const store = memoryStore();
  const files = { ...(await directoryOf(store)), ...(entryBytes === undefined ? {} : { entryBytes }) };
  return { load: () => store.load(), commit: store.commit, close: async () => undefined, files: async () => files };
}

async function readAll(device: Device, file: FileValue): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of device.files.pieces(file)) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('entries of files', () => {
  it('[FILES-80] a photo is one entry in IndexedDB and a film several, which are sent and deleted', async () => {
    const store = await openIndexedDbStore({ indexedDB: new IDBFactory() as unknown as IndexedDbFactory });
    const device = await fixture.open({ store });
    fixture.platform.setOnline(false);
    const directory = await directoryOf(store);
    for (const [size, entries] of [
      [3_000_000, 1],
      [FILE_ENTRY_BYTES, 1],
      [FILE_ENTRY_BYTES + 1, 2],
    ] as const) {
      const bytes = bytesOf(size);
      const file = await device.files.add(new Blob([bytes]));
      expect(file.$file).toMatchObject({ sha256: hashOf(bytes), size });
      expect(await directory.list()).toHaveLength(entries);
      expect(hashOf(await readAll(device, file))).toBe(hashOf(bytes));
      fixture.platform.setOnline(true);
      await fixture.platform.until(isAt(device, file, 'uploaded'));
      expect(hashOf(fixture.sync.files.stored.get(hashOf(bytes)) ?? new Uint8Array())).toBe(hashOf(bytes));
      fixture.platform.setOnline(false);
      await device.files.add(bytes);
      await device.files.discard(file);
      expect(await directory.list()).toEqual([]);
    }
    await fixture.finish(device.close());
  });

  it('[FILES-80] adding a file reads none of its bytes back, where the place for them can tell that they are there', async () => {
    const store = await lasting(FILE_ENTRY_BYTES);
    const directory = await directoryOf(store);
    let reads = 0;
    Object.assign(directory, {
      has: async (entry: string) => (await directory.list()).includes(entry),
      read: async () => {
        reads++;
        return null;
      },
    });
    const device = await fixture.open({ store });
    fixture.platform.setOnline(false);
    const { $file } = await device.files.add(bytesOf(FILE_ENTRY_BYTES + 1));
    expect([device.files.waiting.getSnapshot(), reads]).toMatchObject([[{ file: $file }], 0]);
    await fixture.finish(device.close());
  });

  it('[FILES-81] a killed upload goes on in the middle of an entry', async () => {
    const store = await lasting(3 * FILE_PIECE_BYTES);
    const device = await fixture.open({ store });
    const bytes = bytesOf(4 * FILE_PIECE_BYTES);
    let calls = 0;
    fixture.intercept = ({ method }, _go, init) =>
      method === 'PATCH' && ++calls === 3 ? fixture.platform.hang(init) : undefined;
    const file = await device.files.add(bytes);
    await fixture.platform.until(() => calls === 3);
    // The process dies.
    fixture.platform.forgetTimers();
    fixture.intercept = () => undefined;
    const again = await fixture.open({ store, user: null });
    await fixture.platform.until(isAt(again, file, 'uploaded'));
    expect(hashOf(fixture.sync.files.stored.get(hashOf(bytes)) ?? new Uint8Array())).toBe(hashOf(bytes));
    await fixture.finish(again.close());
  });

  it('[FILES-90] files that an earlier version has stored in smaller entries are read, sent and deleted', async () => {
    const store = await lasting(undefined);
    const device = await fixture.open({ store });
    fixture.platform.setOnline(false);
    const [first, second] = [bytesOf(2 * FILE_PIECE_BYTES + 9), bytesOf(2 * FILE_PIECE_BYTES + 8)];
    const [kept, discarded] = [await device.files.add(first), await device.files.add(second)];
    await fixture.finish(device.close());
    const rows = (await store.load()).filter(({ key: [kind] }) => kind === 'file');
    for (const row of rows) {
      const { entryBytes: _, ...value } = row.value as Record<string, number>;
      await store.commit([{ ...row, value }]);
    }
    const directory = await directoryOf(store);
    const larger = { ...store, files: async () => ({ ...directory, entryBytes: FILE_ENTRY_BYTES }) };
    const again = await fixture.open({ store: larger, user: null });
    expect(hashOf(await readAll(again, kept))).toBe(hashOf(first));
    await again.files.discard(discarded);
    expect(await directory.list()).toHaveLength(3);
    fixture.platform.setOnline(true);
    await fixture.platform.until(isAt(again, kept, 'uploaded'));
    expect(hashOf(fixture.sync.files.stored.get(hashOf(first)) ?? new Uint8Array())).toBe(hashOf(first));
    await fixture.finish(again.close());
  });

  it('[FILES-85] a file that leaves while it is read goes on at the same byte, although it is fetched in smaller entries', async () => {
    const store = await lasting(2 * FILE_PIECE_BYTES);
    const device = await fixture.open({ store, files: { cacheBytes: 1 } });
    const bytes = bytesOf(5 * FILE_PIECE_BYTES + 7);
    const file = await device.files.add(bytes);
    await fixture.platform.until(isAt(device, file, 'uploaded'));
    const pieces = device.files.pieces(file);
    const read = [(await pieces.next()).value ?? new Uint8Array()];
    const other = await device.files.add(new Uint8Array(9));
    await fixture.platform.until(isAt(device, other, 'uploaded'));
    await fixture.platform.until(isAt(device, file, 'missing'));
    const rest = (async () => {
      for await (const piece of pieces) read.push(piece);
    })();
    await fixture.finish(rest);
    expect([read[0]?.length, hashOf(Buffer.concat(read))]).toEqual([2 * FILE_PIECE_BYTES, hashOf(bytes)]);
    await fixture.finish(device.close());
  });

  it('[FILES-90] a database of files that an earlier version has made is opened with what it holds', async () => {
    const indexedDB = new IDBFactory() as unknown as IndexedDbFactory;
    const request = indexedDB.open('tidemark:files', 1);
    request.onupgradeneeded = () => void request.result.createObjectStore('entries');
    const db = await answered(request);
    await answered(db.transaction(['entries'], 'readwrite').objectStore('entries').put(new ArrayBuffer(7), 'a-1.0'));
    db.close();
    const directory = await directoryOf(await openIndexedDbStore({ indexedDB }));
    expect(await directory.read('a-1.0')).toEqual(new Uint8Array(7));
  });

  it('[FILES-90] an earlier version does not open a database of files, whose larger entries it would take for damaged', async () => {
    const indexedDB = new IDBFactory() as unknown as IndexedDbFactory;
    await directoryOf(await openIndexedDbStore({ indexedDB }));
    await expect(answered(indexedDB.open('tidemark:files', 1))).rejects.toMatchObject({ code: 'store_failed' });
  });
});
