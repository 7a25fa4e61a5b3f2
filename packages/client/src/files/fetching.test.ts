import { createHash } from 'node:crypto';
import type { Device, FileReference, LocalStore, LocalWrite, Platform } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  FILE_PIECE_BYTES,
  FILE_REQUEST_MS_MAX,
  FILES_FETCHED_AT_ONCE,
  FILES_LOST_ASKED_EVERY_MS,
  LOST_FILES_ASKED_MAX,
} from '../limits.ts';
import { FILE, FILES } from '../state/file-rows.ts';
import { memoryStore } from '../stores/memory-store.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
  await fixture.tidemark.sources.declare({ name: 'Visit', partition_type: 'user' });
});

const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const stateOf = (device: Device, file: FileReference) => device.files.state(file).getSnapshot();

/** Puts a file on the server as another device does. */
function serve(bytes: Uint8Array): FileReference {
  fixture.sync.files.stored.set(hashOf(bytes), new Uint8Array(bytes));
  return { sha256: hashOf(bytes), size: bytes.length, type: 'image/jpeg' };
}

/** The platform of the fixture with another network. */
function platformWith(network: NonNullable<Platform['network']>): Platform {
  const { platform } = fixture;
  return {
    network,
    tabs: null,
    nowMs: () => platform.nowMs(),
    randomBytes: (count) => platform.randomBytes(count),
    after: (ms, callback) => platform.after(ms, callback),
    fetch: (url, init) => platform.fetch(url, init),
  };
}

describe('fetching in advance', () => {
  /** A device whose objects refer to more files than are fetched at once. Their downloads stall, and `stalled` has them. */
  async function prefetching() {
    const { platform } = fixture;
    const files = Array.from({ length: FILES_FETCHED_AT_ONCE + 2 }, (_, n) => serve(new Uint8Array(20 + n)));
    const network = { ...platform.network, isMetered: () => isMetered };
    let isMetered = false;
    const stalled = new Set<string>();
    fixture.intercept = ({ path }, _go, init) => {
      if (!files.some(({ sha256 }) => path.endsWith(sha256))) return undefined;
      stalled.add(path);
      return platform.hang(init).finally(() => stalled.delete(path));
    };
    const device = await fixture.open({
      files: { metered: false, prefetch: { Visit: 'all' } },
      platform: platformWith(network),
    });
    // Loading the part for files takes real time, during which virtual time would pass.
    await fixture.finish(device.files.blob(serve(new Uint8Array(1))));
    const objects = { 1: { photos: files.map((file) => ({ $file: { ...file } })) } };
    await fixture.tidemark.objects.push({ source: 'Visit', user_id: 'ada', objects });
    await fixture.finish(device.sync());
    await platform.until(() => stalled.size === FILES_FETCHED_AT_ONCE);
    const setMetered = (given: boolean) => {
      isMetered = given;
      platform.setOnline(true);
    };
    /** Shows a file. The downloads that stall would end by themselves after a while. */
    const show = async (file: FileReference) => {
      const beganMs = platform.nowMs();
      expect((await fixture.finish(device.files.blob(file))).size).toBe(file.size);
      expect(platform.nowMs() - beganMs).toBeLessThan(FILE_REQUEST_MS_MAX / 2);
    };
    return { device, files, stalled, setMetered, show };
  }

  it('[FILES-98] what the app shows is fetched at once while files that are fetched in advance stall', async () => {
    const { device, stalled, show } = await prefetching();
    await show(serve(new Uint8Array(9)));
    await fixture.platform.until(() => stalled.size === FILES_FETCHED_AT_ONCE);
    await fixture.finish(device.close());
  });

  it('[FILES-98] what the app shows never takes the place of something else that it shows', async () => {
    const { platform } = fixture;
    const device = await fixture.open();
    const files = Array.from({ length: FILES_FETCHED_AT_ONCE + 1 }, (_, n) => serve(new Uint8Array(30 + n)));
    const stalled = new Set<string>();
    fixture.intercept = ({ path }, _go, init) => {
      if (!files.some(({ sha256 }) => path.endsWith(sha256))) return undefined;
      stalled.add(path);
      return platform.hang(init).finally(() => stalled.delete(path));
    };
    for (const [index, file] of files.entries()) {
      device.files.blob(file).catch(() => undefined);
      await platform.until(() => stalled.size === Math.min(index + 1, FILES_FETCHED_AT_ONCE));
    }
    await platform.advance(100);
    expect([...stalled]).toEqual(files.slice(0, -1).map(({ sha256 }) => `/files/${sha256}`));
    await fixture.finish(device.close());
  });

  it('[FILES-86] what does not fit into the cache is not fetched in advance', async () => {
    const device = await fixture.open({ files: { cacheBytes: 100, prefetch: { Visit: 'all' } } });
    const files = Array.from({ length: 3 }, (_, n) => serve(new Uint8Array(60 + n)));
    const objects = { 1: { photos: files.map((file) => ({ $file: { ...file } })) } };
    await fixture.tidemark.objects.push({ source: 'Visit', user_id: 'ada', objects });
    await fixture.finish(device.sync());
    await fixture.platform.until(() => files.some((file) => stateOf(device, file).status === 'uploaded'));
    await fixture.platform.advance(60_000);
    expect(files.map(({ sha256 }) => fixture.sync.count(`/files/${sha256}`)).sort()).toEqual([0, 0, 1]);
    await fixture.finish(device.close());
  });

  it('[FILES-98] a file that waits to be fetched in advance is fetched at once when the app shows it', async () => {
    const { device, files, stalled, show } = await prefetching();
    const last = files.find(({ sha256 }) => ![...stalled].some((path) => path.endsWith(sha256)));
    if (last === undefined) throw new Error('more files wait than are fetched at once');
    const shown = fixture.intercept;
    fixture.intercept = (exchange, ...rest) =>
      exchange.path.endsWith(last.sha256) ? undefined : shown(exchange, ...rest);
    await show(last);
    await fixture.finish(device.close());
  });

  it('[FILES-98] fetching in advance ends when the network becomes metered, and goes on when it is not any more', async () => {
    const { device, files, stalled, setMetered, show } = await prefetching();
    setMetered(true);
    await fixture.platform.until(() => stalled.size === 0);
    expect(new Set(files.map((file) => stateOf(device, file).status))).toEqual(new Set(['missing']));
    await show(serve(new Uint8Array(9)));
    await fixture.platform.advance(60_000);
    expect(stalled.size).toBe(0);
    setMetered(false);
    await fixture.platform.until(() => stalled.size === FILES_FETCHED_AT_ONCE);
    await fixture.finish(device.close());
  });
});

describe('bytes that are wrong', () => {
  it('[FILES-84] a file without bytes whose hash names others is not taken', async () => {
    const device = await fixture.open();
    const wrong = { sha256: hashOf(new Uint8Array(1)), size: 0, type: 'image/jpeg' };
    await expect(fixture.finish(device.files.blob(wrong))).rejects.toMatchObject({ code: 'bad_answer' });
    expect(stateOf(device, wrong)).toMatchObject({ status: 'failed', error: { code: 'bad_answer' } });
    const empty = { sha256: hashOf(new Uint8Array()), size: 0, type: 'image/jpeg' };
    expect((await fixture.finish(device.files.blob(empty))).size).toBe(0);
    await fixture.finish(device.close());
  });

  it('[FILES-84] a reference with a wrong size does not keep the device from a file that another one names rightly', async () => {
    const device = await fixture.open();
    const photo = serve(new Uint8Array(9).fill(5));
    for (const size of [12, 4, Number.MAX_SAFE_INTEGER]) {
      const wrong = device.files.blob({ ...photo, size });
      await expect(fixture.finish(wrong)).rejects.toMatchObject({ code: 'bad_answer' });
    }
    await expect(fixture.finish(device.files.blob({ ...photo, size: 12 }))).rejects.toMatchObject({
      code: 'bad_answer',
    });
    expect((await fixture.finish(device.files.blob(photo))).size).toBe(9);
    await fixture.finish(device.close());
  });

  it('[FILES-84] a piece that a killed process had stored and not noted goes with the download that it began', async () => {
    const memory = memoryStore();
    const photo = serve(new Uint8Array(2 * FILE_PIECE_BYTES).fill(2));
    const store: LocalStore = { ...memory, close: async () => undefined };
    const isNoted = ({ value }: LocalWrite) => (value as { bytes?: number } | undefined)?.bytes === FILE_PIECE_BYTES;
    let isStored = false;
    const commit: LocalStore['commit'] = (writes, options) => {
      if (!writes.some(isNoted)) return store.commit(writes, options);
      isStored = true;
      return new Promise(() => undefined);
    };
    const device = await fixture.open({ store: { ...store, commit } });
    device.files.blob(photo).catch(() => undefined);
    await fixture.platform.until(() => isStored);
    // The process dies.
    fixture.platform.forgetTimers();
    const again = await fixture.open({ store, user: null });
    const other = again.files.blob({ ...photo, size: photo.size + 1 });
    await expect(fixture.finish(other)).rejects.toMatchObject({ code: 'range_not_satisfiable' });
    expect((await fixture.finish(again.files.blob(photo))).size).toBe(photo.size);
    expect(await (await store.files?.())?.list()).toHaveLength(2);
    await fixture.finish(again.close());
  });

  it('[FILES-99] a file whose bytes were damaged on the device is fetched again when it is shown', async () => {
    const store = memoryStore();
    const device = await fixture.open({ store });
    const photo = serve(new Uint8Array(9).fill(7));
    await fixture.finish(device.files.blob(photo));
    const directory = await store.files?.();
    const [name = ''] = (await directory?.list()) ?? [];
    await directory?.write(name, new Uint8Array(4));
    const again = await fixture.finish(device.files.blob(photo));
    expect(hashOf(new Uint8Array(await again.arrayBuffer()))).toBe(photo.sha256);
    expect([stateOf(device, photo).status, await directory?.list()]).toMatchObject(['uploaded', { length: 1 }]);
    await fixture.finish(device.close());
  });

  it('[FILES-99] two calls read a damaged file, and the second finds the bytes that the first has fetched', async () => {
    const store = memoryStore();
    const device = await fixture.open({ store });
    const photo = serve(new Uint8Array(9).fill(8));
    await fixture.finish(device.files.blob(photo));
    const directory = await store.files?.();
    if (directory === undefined) throw new Error('the store keeps files');
    await directory.delete(await directory.list());
    const { read } = directory;
    let goOn = () => {};
    const slow = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let reads = 0;
    Object.assign(directory, { read: (name: string) => (++reads === 1 ? slow.then(() => null) : read(name)) });
    const second = device.files.blob(photo);
    await fixture.platform.until(() => reads === 1);
    expect((await fixture.finish(device.files.blob(photo))).size).toBe(9);
    goOn();
    expect((await fixture.finish(second)).size).toBe(9);
    expect(fixture.sync.count(`/files/${photo.sha256}`)).toBe(2);
    await fixture.finish(device.close());
  });

  it('[FILES-99] a damaged file that the server does not have stays, and the app is told', async () => {
    const store = memoryStore();
    const device = await fixture.open({ store });
    fixture.platform.setOnline(false);
    const photo = await device.files.add(new Uint8Array(9));
    const directory = await store.files?.();
    const [name = ''] = (await directory?.list()) ?? [];
    await directory?.write(name, new Uint8Array(4));
    await expect(device.files.blob(photo)).rejects.toMatchObject({ code: 'store_damaged' });
    expect(device.files.waiting.getSnapshot()).toHaveLength(1);
    await fixture.finish(device.close());
  });
});

describe('files that the server has lost', () => {
  /** A device with a photo that it has sent, or with one that it has fetched. */
  async function withPhoto(isSent: boolean) {
    const { tidemark, sync, platform } = fixture;
    const store = memoryStore();
    const device = await fixture.open({ store });
    const bytes = new Uint8Array(12).fill(3);
    const { $file } = isSent ? await device.files.add(bytes) : { $file: serve(bytes) };
    await tidemark.objects.push({
      source: 'Visit',
      user_id: 'ada',
      objects: { 1: { photo: { $file: { ...$file } } } },
    });
    if (isSent) await platform.until(() => stateOf(device, $file).status === 'uploaded');
    else {
      await tidemark.files.stored({ sha256: $file.sha256, size: 12, by: { kind: 'backend' } });
      await fixture.finish(device.files.blob($file));
    }
    const lose = async () => {
      sync.files.stored.delete($file.sha256);
      await tidemark.files.lost($file.sha256);
    };
    const damage = async () => {
      const directory = await store.files?.();
      await directory?.delete(await directory.list());
    };
    return { device, photo: $file, lose, damage };
  }

  it.each([
    ['sent', true],
    ['fetched', false],
  ])('[FILES-100] a device sends a file again that it has %s and that the server has lost', async (_, isSent) => {
    const { device, photo, lose } = await withPhoto(isSent);
    await lose();
    await fixture.platform.advance(FILES_LOST_ASKED_EVERY_MS);
    fixture.platform.setOnline(false);
    fixture.platform.setOnline(true);
    await fixture.platform.until(() => fixture.sync.files.stored.has(photo.sha256));
    await fixture.platform.until(() => device.files.waiting.getSnapshot().length === 0);
    expect(await fixture.tidemark.files.find(photo.sha256)).toMatchObject({ is_stored: true, missing_since: null });
    await fixture.finish(device.close());
  });

  it('[FILES-100] a device asks at its start, and not more than once in a while', async () => {
    const { device } = await withPhoto(true);
    const asked = () => fixture.sync.count('/files/lost');
    for (let n = 0; n < 5; n++) {
      fixture.platform.setOnline(false);
      fixture.platform.setOnline(true);
      await fixture.platform.advance(1_000);
    }
    expect(asked()).toBe(1);
    await fixture.finish(device.close());
  });

  /** A device that has more files than one request may name. */
  async function withManyFiles(answered: Promise<unknown> = Promise.resolve()) {
    const memory = memoryStore();
    const store: LocalStore = { ...memory, close: async () => undefined };
    await fixture.finish((await fixture.open({ store })).close());
    const names = Array.from({ length: LOST_FILES_ASKED_MAX + 1 }, (_, number) => String(number).padStart(64, '0'));
    const value = { size: 1, type: 'image/jpeg', body: '0-00', bytes: 1, usedAtMs: 0 };
    const rows = names.map((sha256): LocalWrite => ({ table: 'facts', key: [FILE, sha256], value }));
    await store.commit([{ table: 'facts', key: FILES, value: 'used' }, ...rows]);
    const asked: string[][] = [];
    fixture.intercept = ({ path, body }) => {
      if (path !== '/files/lost') return undefined;
      asked.push((body as { files: string[] }).files);
      return answered.then(() => Response.json({ files: [] }));
    };
    const device = await fixture.finish(fixture.open({ store }));
    await fixture.platform.until(() => asked.length > 0);
    return { device, names, asked };
  }

  it('[FILES-100] a device asks about all its files, also if they are more than one request may name', async () => {
    const { device, names, asked } = await withManyFiles();
    await fixture.platform.advance(10_000);
    expect(asked.map(({ length }) => length)).toEqual([LOST_FILES_ASKED_MAX, 1]);
    expect(asked.flat().sort()).toEqual(names);
    await fixture.finish(device.close());
  });

  it('[FILES-100] a device does not ask about the files of a user who has left meanwhile', async () => {
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { device, asked } = await withManyFiles(answered);
    await fixture.finish(device.signIn({ login: 'bob', password: 'long enough' }));
    answer();
    await fixture.platform.advance(10_000);
    expect(asked.map(({ length }) => length)).toEqual([LOST_FILES_ASKED_MAX]);
    await fixture.finish(device.close());
  });

  it('[FILES-100] a file that has left the device before the server says that it is lost is not sent again', async () => {
    const { device, photo, lose, damage } = await withPhoto(false);
    await lose();
    await fixture.platform.advance(FILES_LOST_ASKED_EVERY_MS);
    let isAsked = false;
    let answer = () => {};
    fixture.intercept = ({ path }, go, init) => {
      if (path === `/files/${photo.sha256}`) return fixture.platform.hang(init);
      if (path !== '/files/lost') return undefined;
      isAsked = true;
      return new Promise<void>((resolve) => {
        answer = resolve;
      }).then(go);
    };
    fixture.platform.setOnline(false);
    fixture.platform.setOnline(true);
    await fixture.platform.until(() => isAsked);
    await damage();
    device.files.blob(photo).catch(() => undefined);
    await fixture.platform.until(() => stateOf(device, photo).status === 'downloading');
    answer();
    await fixture.platform.advance(10_000);
    expect(device.files.waiting.getSnapshot()).toEqual([]);
    await fixture.finish(device.close());
  });

  it('[FILES-100] a device does not ask while files wait for another network', async () => {
    const { platform } = fixture;
    let isMetered = true;
    const network = { ...platform.network, isMetered: () => isMetered };
    const device = await fixture.open({
      files: { metered: false },
      platform: platformWith(network),
    });
    await fixture.finish(device.files.blob(serve(new Uint8Array(5))));
    await platform.advance(10_000);
    expect(fixture.sync.count('/files/lost')).toBe(0);
    isMetered = false;
    platform.setOnline(true);
    await platform.until(() => fixture.sync.count('/files/lost') === 1);
    await fixture.finish(device.close());
  });
});
