import { createHash } from 'node:crypto';
import { type Device, type FileReference, type LocalStore, openDevice } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture, tabsInMemory } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { FILE_PIECE_BYTES } from '../limits.ts';
import { memoryStore } from '../stores/memory-store.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
  await fixture.tidemark.sources.declare({ name: 'Visit', partition_type: 'user' });
});

const password = 'long enough';
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const stateOf = (device: Device, file: Parameters<Device['files']['state']>[0]) =>
  device.files.state(file).getSnapshot();
const isAt = (device: Device, file: Parameters<Device['files']['state']>[0], status: string) => () =>
  stateOf(device, file).status === status;
const entriesOf = async (store: LocalStore) => (await (await store.files?.())?.list()) ?? [];

/** A store that outlives its device. */
function lasting(): LocalStore {
  const store = memoryStore();
  return { load: () => store.load(), commit: store.commit, close: async () => undefined, files: store.files as never };
}

function serve(bytes: Uint8Array): FileReference {
  fixture.sync.files.stored.set(hashOf(bytes), new Uint8Array(bytes));
  return { sha256: hashOf(bytes), size: bytes.length, type: 'image/jpeg' };
}

/** A promise, and the function that resolves it. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('leaving', () => {
  it('[FILES-87] signing out deletes what was fetched in advance, too', async () => {
    const store = lasting();
    const device = await fixture.open({ store, files: { prefetch: { Visit: 'all' } } });
    const photo = serve(new Uint8Array(5));
    const objects = { 1: { photo: { $file: { ...photo } } } };
    await fixture.tidemark.objects.push({ source: 'Visit', user_id: 'ada', objects });
    await fixture.finish(device.sync());
    await fixture.platform.until(isAt(device, photo, 'uploaded'));
    await fixture.finish(device.signOut());
    expect(await entriesOf(store)).toEqual([]);
    await fixture.finish(device.close());
  });

  it('[FILES-87] a piece that is being stored while the user signs out is deleted, too', async () => {
    const store = lasting();
    const directory = await store.files?.();
    if (directory === undefined) throw new Error('the store keeps files');
    const { write } = directory;
    const [begun, slow] = [gate(), gate()];
    Object.assign(directory, {
      write: async (name: string, bytes: Uint8Array<ArrayBuffer>) => {
        begun.open();
        await slow.opened;
        return write(name, bytes);
      },
    });
    const device = await fixture.open({ store });
    device.files.blob(serve(new Uint8Array(6))).catch(() => undefined);
    await fixture.finish(begun.opened);
    const leaving = device.signOut();
    await fixture.platform.until(() => device.status.getSnapshot().mode === 'signed_out');
    slow.open();
    await fixture.finish(leaving);
    expect(await entriesOf(store)).toEqual([]);
    await fixture.finish(device.close());
  });

  it('[FILES-87] an addition during which the user has signed out and in again is refused', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    const { open, opened } = gate();
    const begun = gate();
    const slowly = (async function* () {
      yield new Uint8Array(FILE_PIECE_BYTES + 1);
      begun.open();
      await opened;
      yield new Uint8Array(FILE_PIECE_BYTES);
    })();
    const adding = device.files.add(slowly);
    const refused = expect(adding).rejects.toMatchObject({ code: 'signed_out' });
    await fixture.finish(begun.opened);
    await fixture.finish(device.signOut());
    await fixture.finish(device.signIn({ login: 'ada', password }));
    await device.files.add(new Uint8Array(1));
    open();
    await fixture.finish(refused);
    expect(await entriesOf(store)).toHaveLength(1);
    await fixture.finish(device.close());
  });
});

describe('adding', () => {
  it('[FILES-80] a file is kept although what was fetched of it before, or added again, cannot be deleted', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    const bytes = new Uint8Array(2 * FILE_PIECE_BYTES).fill(7);
    const photo = serve(bytes);
    const path = `/files/${photo.sha256}`;
    fixture.intercept = (exchange, _go, init) =>
      exchange.path === path && fixture.sync.count(path) === 2 ? fixture.platform.hang(init) : undefined;
    device.files.blob(photo).catch(() => undefined);
    await fixture.platform.until(() => fixture.sync.count(path) === 2);
    fixture.platform.setOnline(false);
    const directory = await store.files?.();
    Object.assign(directory ?? {}, { delete: () => Promise.reject(new Error('the disk failed')) });
    for (const content of [bytes, bytes]) expect((await device.files.add(content)).$file.sha256).toBe(photo.sha256);
    expect(hashOf(new Uint8Array(await (await device.files.blob(photo)).arrayBuffer()))).toBe(photo.sha256);
    await fixture.finish(device.close());
  });

  it('[FILES-84] a reference with an impossible size does not keep the device from adding the file', async () => {
    const device = await fixture.open();
    const bytes = new Uint8Array(9).fill(6);
    const wrong = { ...serve(bytes), size: Number.MAX_SAFE_INTEGER };
    await expect(fixture.finish(device.files.blob(wrong))).rejects.toMatchObject({ code: 'bad_answer' });
    const file = await device.files.add(bytes);
    expect((await device.files.blob(file)).size).toBe(9);
    await fixture.finish(device.close());
  });
});

describe('sending', () => {
  it('[FILES-82] a stalled upload that is discarded makes room for the next one', async () => {
    const device = await fixture.open();
    const slow = [1, 2, 3].map((count) => new Uint8Array(count));
    fixture.intercept = ({ method, path }, _go, init) =>
      method === 'PATCH' && slow.some((bytes) => path.endsWith(hashOf(bytes)))
        ? fixture.platform.hang(init)
        : undefined;
    const stalled = await Promise.all(slow.map((bytes) => device.files.add(bytes)));
    await fixture.platform.until(() => stalled.every((file) => isAt(device, file, 'uploading')()));
    const next = await device.files.add(new Uint8Array(9));
    const [first] = stalled;
    if (first === undefined) throw new Error('a file was added');
    await device.files.discard(first);
    // Nothing else happens meanwhile.
    for (let turn = 0; turn < 500; turn++) await Promise.resolve();
    expect(fixture.sync.count(`/files/uploads/${next.$file.sha256}`)).toBe(1);
    await fixture.finish(device.close());
  });

  it('[FILES-83] a file that is discarded just when it has arrived is gone', async () => {
    const store = lasting();
    const { commit } = store;
    const held = gate();
    let isHeld = false;
    const slow = {
      ...store,
      commit: async (...given: Parameters<LocalStore['commit']>) => {
        const [writes] = given;
        const isDiscard = writes.some(({ key, value }) => key[0] === 'file' && value === undefined);
        if (isDiscard) {
          isHeld = true;
          await held.opened;
        }
        return commit(...given);
      },
    };
    const device = await fixture.open({ store: slow });
    const arrive = gate();
    fixture.intercept = ({ method }, go) => (method === 'PATCH' ? arrive.opened.then(go) : undefined);
    const file = await device.files.add(new Uint8Array(7));
    await fixture.platform.until(isAt(device, file, 'uploading'));
    const discarding = device.files.discard(file);
    await fixture.platform.until(() => isHeld);
    arrive.open();
    await fixture.platform.until(() => fixture.sync.files.stored.has(file.$file.sha256));
    await fixture.platform.advance(10);
    held.open();
    await fixture.finish(discarding);
    await fixture.platform.advance(10);
    expect([stateOf(device, file).status, await entriesOf(store)]).toEqual(['missing', []]);
    await fixture.finish(device.close());
  });

  it('[FILES-83] a photo whose stored bytes were damaged is sent when it is added again', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    fixture.platform.setOnline(false);
    const bytes = new Uint8Array(20).fill(3);
    const file = await device.files.add(bytes);
    const directory = await store.files?.();
    await directory?.delete(await directory.list());
    fixture.platform.setOnline(true);
    await fixture.platform.until(isAt(device, file, 'failed'));
    await fixture.finish(device.files.add(bytes));
    await fixture.platform.until(isAt(device, file, 'uploaded'));
    expect((await device.files.blob(file)).size).toBe(20);
    await fixture.finish(device.close());
  });

  it('[FILES-83] a file that could not be fetched has not failed once the app has added it', async () => {
    const device = await fixture.open();
    const bytes = new Uint8Array(8).fill(8);
    const reference = { sha256: hashOf(bytes), size: 8, type: 'image/png' };
    await expect(fixture.finish(device.files.blob(reference))).rejects.toMatchObject({ code: 'file_not_found' });
    fixture.intercept = ({ method }) => (method === 'GET' ? undefined : Promise.reject(new TypeError('no route')));
    const file = await device.files.add(bytes);
    expect(device.files.waiting.getSnapshot()).toMatchObject([{ state: { status: 'local' } }]);
    expect(stateOf(device, file)).toEqual({ status: 'local' });
    await fixture.finish(device.close());
  });
});

describe('the cache', () => {
  it('[FILES-85] a file that is larger than the cache is shown', async () => {
    const device = await fixture.open({ files: { cacheBytes: 100 } });
    const large = serve(new Uint8Array(2 * FILE_PIECE_BYTES).fill(4));
    const sizes: number[] = [];
    const reading = (async () => {
      for await (const piece of device.files.pieces(large)) {
        sizes.push(piece.length);
        await new Promise<void>((resolve) => void fixture.platform.after(10, resolve));
      }
    })();
    await fixture.finish(reading);
    expect(sizes).toEqual([FILE_PIECE_BYTES, FILE_PIECE_BYTES]);
    await fixture.finish(device.close());
  });

  it('[FILES-85] a file that is being fetched does not leave the cache for another one', async () => {
    const device = await fixture.open({ files: { cacheBytes: 100 } });
    const [large, other] = [serve(new Uint8Array(2 * FILE_PIECE_BYTES).fill(6)), serve(new Uint8Array(9))];
    const [second, held] = [gate(), new AbortController()];
    let firsts = 0;
    fixture.intercept = ({ path }, go, init) => {
      if (!path.endsWith(large.sha256)) return undefined;
      const isFirst = new Headers(init.headers).get('range')?.startsWith('bytes=0-') === true;
      if (isFirst) firsts++;
      if (isFirst || held.signal.aborted) return undefined;
      second.open();
      // A request that is held must not stop the time.
      return fixture.platform.hang(held).catch(go);
    };
    const fetching = device.files.blob(large);
    await fixture.finish(second.opened);
    await fixture.platform.advance(1);
    await fixture.finish(device.files.blob(other));
    await fixture.platform.advance(1);
    held.abort();
    expect((await fixture.finish(fetching)).size).toBe(large.size);
    expect(firsts).toBe(1);
    await fixture.finish(device.close());
  });

  it('[FILES-85] a file that leaves the cache while it is read is fetched again', async () => {
    const device = await fixture.open({ files: { cacheBytes: 100 } });
    const [large, other] = [serve(new Uint8Array(2 * FILE_PIECE_BYTES).fill(5)), serve(new Uint8Array(9))];
    const pieces = device.files.pieces(large);
    await fixture.finish(pieces.next());
    await fixture.platform.advance(1);
    await fixture.finish(device.files.blob(other));
    await fixture.platform.until(isAt(device, large, 'missing'));
    expect((await fixture.finish(pieces.next())).value?.length).toBe(FILE_PIECE_BYTES);
    await fixture.finish(device.close());
  });
});

it('[FILES-90] a place for files that could not be opened is tried again', async () => {
  const store = memoryStore();
  let isBroken = true;
  const files = async () => {
    if (isBroken) throw new Error('the disk is full');
    return (await store.files?.()) as never;
  };
  const device = await fixture.open({ store: { ...store, files } });
  await expect(device.files.add(new Uint8Array(1))).rejects.toThrow('the disk is full');
  isBroken = false;
  await expect(fixture.finish(device.files.add(new Uint8Array(1)))).resolves.toMatchObject({ $file: { size: 1 } });
  await fixture.finish(device.close());
});

it('[FILES-89] a file stays if the tab that leads has kept it, and was closed before it said so', async () => {
  const { platform } = fixture;
  const kept = lasting();
  const tabs = tabsInMemory();
  let isLost = false;
  /** Loses what the tab that leads answers, while `isLost` is set. */
  const lossy: typeof tabs = {
    ...tabs,
    openChannel: (name, onMessage) => {
      const { post, close } = tabs.openChannel(name, onMessage);
      const isAnswer = (message: unknown) => (message as { readonly type: string }).type === 'result';
      return { post: (message) => (isLost && isAnswer(message) ? undefined : post(message)), close };
    },
  };
  const shared = {
    tabs: lossy,
    network: platform.network,
    nowMs: () => platform.nowMs(),
    after: (ms: number, callback: () => void) => platform.after(ms, callback),
    fetch: (url: string, init: RequestInit) => platform.fetch(url, init),
  };
  const options = { url: 'http://tidemark.test', live: false, platform: shared };
  const open = () => fixture.finish(openDevice({ ...options, store: { ...kept, sharedAs: 'one' } }));
  const [leader, follower] = [await open(), await open()];
  await fixture.finish(leader.signIn({ login: 'ada', password }));
  await fixture.finish(follower.sync());
  // The part for files is loaded, and there is a note that it is used.
  await fixture.finish(follower.files.add(new Uint8Array(1)));
  platform.setOnline(false);
  isLost = true;
  const adding = follower.files.add(new Uint8Array(50).fill(5));
  await platform.until(() => leader.files.waiting.getSnapshot().some(({ file }) => file.size === 50));
  await fixture.finish(leader.close());
  isLost = false;
  const file = await fixture.finish(adding);
  expect(await (await fixture.finish(follower.files.blob(file))).arrayBuffer()).toEqual(
    new Uint8Array(50).fill(5).buffer,
  );
  await fixture.finish(follower.close());
});
