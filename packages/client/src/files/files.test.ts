import { resolveObjectURL } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Device, FileReference, LocalStore } from '@tidemark/client';
import { Refusal } from '@tidemark/protocol';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  FILE_MISSING_ATTEMPTS_MAX,
  FILE_PIECE_BYTES,
  FILE_SEND_BYTES_FIRST,
  PAUSE_MS_FIRST,
  PAUSE_MS_MAX,
} from '../limits.ts';
import { memoryStore } from '../stores/memory-store.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
  for (const name of ['Visit', 'Note']) await fixture.tidemark.sources.declare({ name, partition_type: 'user' });
});

let made = 0;
/** Returns other bytes at each call. */
const bytesOf = (count: number) => new Uint8Array(count).fill(++made % 251).fill(made, 0, 1);
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const stateOf = (device: Device, file: Parameters<Device['files']['state']>[0]) =>
  device.files.state(file).getSnapshot();
const isAt = (device: Device, file: Parameters<Device['files']['state']>[0], status: string) => () =>
  stateOf(device, file).status === status;
const sizes = () => [...fixture.sync.files.stored.values()].map(({ length }) => length);

/** A store that outlives its device. */
function lasting(): LocalStore {
  const store = memoryStore();
  return { load: () => store.load(), commit: store.commit, close: async () => undefined, files: store.files as never };
}

const entriesOf = async (store: LocalStore) => (await (await store.files?.())?.list()) ?? [];

async function readAll(device: Device, file: Parameters<Device['files']['state']>[0]): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of device.files.pieces(file)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Puts a file on the server as another device does. */
function serve(bytes: Uint8Array): FileReference {
  fixture.sync.files.stored.set(hashOf(bytes), new Uint8Array(bytes));
  return { sha256: hashOf(bytes), size: bytes.length, type: 'image/jpeg' };
}

const patches = () => fixture.sync.log.filter(({ method }) => method === 'PATCH').length;

describe('adding', () => {
  it('[FILES-80] a file is added without a network, is there at once, and is sent when there is one', async () => {
    const device = await fixture.open();
    fixture.platform.setOnline(false);
    const bytes = bytesOf(FILE_PIECE_BYTES + 5);
    const photo = await device.files.add(new Blob([bytes], { type: 'image/jpeg' }), { name: 'roof.jpg' });
    expect(photo).toEqual({
      $file: { sha256: hashOf(bytes), size: bytes.length, type: 'image/jpeg', name: 'roof.jpg' },
    });
    expect(stateOf(device, photo)).toEqual({ status: 'local' });
    expect(device.files.waiting.getSnapshot()).toMatchObject([{ file: photo.$file, state: { status: 'local' } }]);
    const blob = await device.files.blob(photo);
    expect([blob.type, hashOf(new Uint8Array(await blob.arrayBuffer()))]).toEqual(['image/jpeg', hashOf(bytes)]);
    fixture.platform.setOnline(true);
    await fixture.platform.until(isAt(device, photo, 'uploaded'));
    expect([...fixture.sync.files.stored.keys()]).toEqual([hashOf(bytes)]);
    expect([device.files.waiting.getSnapshot(), fixture.sync.count('/files')]).toEqual([[], 1]);
    await fixture.finish(device.close());
  });

  it.each([
    ['image/svg+xml', false],
    ['image/SVG+xml', false],
    ['IMAGE/svg+xml', false],
    ['image/x+XML', false],
    ['video/x+xml', false],
    ['audio/xml', false],
    ['text/html', false],
    ['application/pdf+xml', false],
    ['image/JPEG', true],
    ['image/webp', true],
    ['video/mp4', true],
    ['audio/ogg; codecs=opus', true],
    ['application/pdf', true],
  ])('[FILES-103] an address has the type %s of a file only if it runs no scripts: %s', async (type, isShown) => {
    const device = await fixture.open();
    const photo = await device.files.add(bytesOf(10), { type });
    const { url, release } = await device.files.url(photo);
    expect(resolveObjectURL(url)?.type).toBe(isShown ? type.toLowerCase() : 'application/octet-stream');
    release();
    await fixture.finish(device.close());
  });

  it('[FILES-80] bytes, buffers, streams of the web and of Node.js are files, also empty ones', async () => {
    const device = await fixture.open();
    fixture.platform.setOnline(false);
    const bytes = bytesOf(100);
    const contents = [
      bytes,
      bytes.buffer,
      new Response(bytes).body,
      (async function* () {
        yield bytes.subarray(0, 1);
        yield bytes.subarray(1);
      })(),
    ];
    for (const content of contents) {
      if (content === null) throw new Error('a response has a body');
      expect((await device.files.add(content)).$file.sha256).toBe(hashOf(bytes));
    }
    const empty = await device.files.add(new Uint8Array());
    expect(empty.$file).toEqual({ sha256: hashOf(new Uint8Array()), size: 0, type: 'application/octet-stream' });
    fixture.platform.setOnline(true);
    await fixture.platform.until(() => device.files.waiting.getSnapshot().length === 0);
    expect(sizes().sort()).toEqual([0, 100]);
    await fixture.finish(device.close());
  });

  it('[FILES-80] the same file added twice is stored once, and a content that fails leaves nothing', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    fixture.platform.setOnline(false);
    const bytes = bytesOf(10);
    await device.files.add(bytes);
    await device.files.add(bytes, { name: 'again' });
    expect(await entriesOf(store)).toHaveLength(1);
    const broken = (async function* () {
      yield bytesOf(FILE_PIECE_BYTES);
      throw new Error('the camera was closed');
    })();
    await expect(device.files.add(broken)).rejects.toThrow('the camera was closed');
    expect(await entriesOf(store)).toHaveLength(1);
    await fixture.finish(device.close());
  });

  it('[FILES-80] a type or name that the app has not chosen never keeps a file from being added', async () => {
    const device = await fixture.open();
    fixture.platform.setOnline(false);
    const long = 'д'.repeat(200);
    for (const [name, type, expected] of [
      ['pier.webm', 'video/webm;codecs=vp8,opus', { type: 'video/webm', name: 'pier.webm' }],
      ['a\\b/c.txt', 'text/plain', { type: 'text/plain', name: 'a_b_c.txt' }],
      [`${long}.jpeg`, 'odd', { type: 'application/octet-stream', name: `${long.slice(0, 125)}.jpeg` }],
      [long, '', { type: 'application/octet-stream', name: long.slice(0, 127) }],
      [`${'x'.repeat(400_000)}.png`, 'image/png', { type: 'image/png', name: `${'x'.repeat(251)}.png` }],
      [`${'🛶'.repeat(200)}.png`, 'image/png', { type: 'image/png', name: `${'🛶'.repeat(62)}.png` }],
      ['\u0000', 'image/png', { type: 'image/png' }],
      ['.profile', 'text/plain', { type: 'text/plain', name: '.profile' }],
    ] as const) {
      const bytes = bytesOf(5);
      const { $file } = await device.files.add(new File([bytes], name, { type }));
      expect($file).toEqual({ sha256: hashOf(bytes), size: 5, ...expected });
    }
    await fixture.finish(device.close());
  });

  it('[FILES-80] a file that becomes shorter while it is read is refused', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    const bytes = bytesOf(FILE_PIECE_BYTES);
    const slice = (from: number) => new Blob([from === 0 ? bytes.subarray(0, 9) : bytes]);
    const shrinking = { size: 2 * FILE_PIECE_BYTES, type: '', slice };
    await expect(device.files.add(shrinking)).rejects.toMatchObject({ code: 'invalid_file' });
    expect([await entriesOf(store), device.files.waiting.getSnapshot()]).toEqual([[], []]);
    await fixture.finish(device.close());
  });

  it('[FILES-80] a type that is not one, a name that is a path, and a user who is not signed in are refused', async () => {
    const device = await fixture.open();
    const bytes = bytesOf(1);
    await expect(device.files.add(bytes, { type: 'jpeg' })).rejects.toMatchObject({ code: 'invalid_file' });
    await expect(device.files.add(bytes, { name: 'a/b' })).rejects.toMatchObject({ code: 'invalid_file' });
    expect(() => device.files.state({} as never)).toThrow('expected a file as `files.add` returns it');
    const stranger = await fixture.open({ user: null });
    await expect(stranger.files.add(bytes)).rejects.toMatchObject({ code: 'signed_out' });
    const { files: _, ...without } = memoryStore();
    const plain = await fixture.open({ store: without });
    await expect(plain.files.add(bytes)).rejects.toMatchObject({ code: 'files_unsupported' });
    for (const opened of [device, stranger, plain]) await fixture.finish(opened.close());
  });
});

describe('sending', () => {
  it('[FILES-81] a killed upload goes on where the server has it', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    const bytes = bytesOf(3 * FILE_PIECE_BYTES);
    let [calls, sent] = [0, 0];
    fixture.intercept = ({ method }, go, init) => {
      if (method !== 'PATCH' || !(init.body instanceof Uint8Array)) return undefined;
      if (++calls === 2) return fixture.platform.hang(init);
      sent += init.body.length;
      return go();
    };
    const film = await device.files.add(bytes);
    await fixture.platform.until(() => calls === 2);
    expect(stateOf(device, film)).toEqual({ status: 'uploading', part: FILE_SEND_BYTES_FIRST / bytes.length });
    // The process dies: nothing of it goes on, and what it has stored is there.
    fixture.platform.forgetTimers();
    const again = await fixture.open({ store, user: null });
    await fixture.platform.until(isAt(again, film, 'uploaded'));
    expect([sizes(), sent]).toEqual([[bytes.length], bytes.length]);
    await fixture.finish(again.close());
  });

  it('[FILES-81] an upload whose connection breaks again and again arrives, and nothing is sent twice; as it advances, its pauses stay short', async () => {
    const device = await fixture.open();
    const bytes = bytesOf(2 * FILE_PIECE_BYTES + 9);
    let [taken, breaks] = [0, 0];
    const startMs = fixture.platform.nowMs();
    fixture.intercept = ({ method, path }, _go, init) => {
      if (method !== 'PATCH' || !(init.body instanceof Uint8Array)) return undefined;
      // The server gets a part of what was sent, and the answer is lost.
      const body = init.body.subarray(0, 20_000);
      taken += body.length;
      breaks++;
      return fixture.sync
        .fetch(`http://tidemark.test/sync/v1${path}`, { ...init, body })
        .then(() => Promise.reject(new TypeError('the connection broke')));
    };
    const film = await device.files.add(bytes);
    await fixture.platform.until(isAt(device, film, 'uploaded'));
    expect([[...fixture.sync.files.stored.keys()], taken]).toEqual([[hashOf(bytes)], bytes.length]);
    expect(fixture.platform.nowMs() - startMs).toBeLessThanOrEqual(breaks * PAUSE_MS_FIRST);
    await fixture.finish(device.close());
  });

  it('[FILES-82] a stalled upload holds up neither other files, nor a new one, nor objects', async () => {
    const device = await fixture.open();
    const slow = bytesOf(10);
    fixture.intercept = ({ method, path }, _go, init) =>
      method === 'PATCH' && path.endsWith(hashOf(slow)) ? fixture.platform.hang(init) : undefined;
    const stalled = await device.files.add(slow);
    await fixture.platform.until(isAt(device, stalled, 'uploading'));
    const others = await Promise.all([20, 30, 40].map((count) => device.files.add(bytesOf(count))));
    const visit = await device.source('Visit').create({ photos: others });
    await fixture.platform.until(() => others.every((file) => isAt(device, file, 'uploaded')()));
    await fixture.platform.until(() => device.source('Visit').get(visit.id)?.isPending === false);
    expect(stateOf(device, stalled).status).toBe('uploading');
    await fixture.finish(device.close());
  });

  it('[FILES-82] three uploads go on at once, and no more', async () => {
    const device = await fixture.open();
    fixture.platform.setOnline(false);
    let most = 0;
    const open = new Set<() => void>();
    fixture.intercept = ({ method }, go, init) => {
      if (method !== 'PATCH') return undefined;
      return new Promise((resolve) => {
        open.add(() => resolve(go()));
        most = Math.max(most, open.size);
        fixture.platform.hang(init).catch(() => undefined);
      });
    };
    for (let count = 1; count <= 6; count++) await device.files.add(bytesOf(count));
    fixture.platform.setOnline(true);
    for (let left = 6; left > 0; left--) {
      await fixture.platform.until(() => open.size === Math.min(3, left));
      const [first] = open;
      if (first === undefined) throw new Error('an upload is under way');
      open.delete(first);
      first();
    }
    await fixture.platform.until(() => device.files.waiting.getSnapshot().length === 0);
    expect([most, sizes().length]).toEqual([3, 6]);
    await fixture.finish(device.close());
  });

  it('[FILES-82] the files that wait longest are sent first, also when they are added again', async () => {
    const device = await fixture.open();
    fixture.platform.setOnline(false);
    const added: string[] = [];
    const contents = Array.from({ length: 6 }, (_, count) => bytesOf(count + 1));
    for (const bytes of contents) {
      added.push((await device.files.add(bytes)).$file.sha256);
      await fixture.platform.advance(1_000);
    }
    for (const bytes of contents.slice(0, 3)) await device.files.add(bytes);
    const sent: string[] = [];
    fixture.intercept = ({ method, path }, _go, init) => {
      if (method !== 'PATCH') return undefined;
      sent.push(path.slice(-64));
      return fixture.platform.hang(init);
    };
    fixture.platform.setOnline(true);
    await fixture.platform.until(() => sent.length === 3);
    expect(sent.sort()).toEqual(added.slice(0, 3).sort());
    await fixture.finish(device.close());
  });

  it('[FILES-83] a file that is too large has failed, says why, and is sent again when the app asks for it', async () => {
    const device = await fixture.open();
    fixture.sync.files.sizeMax = 5;
    const large = await device.files.add(bytesOf(6));
    await fixture.platform.until(isAt(device, large, 'failed'));
    const error = { code: 'file_too_large', detail: 'a file has at most 5 bytes' };
    expect(device.files.waiting.getSnapshot()).toMatchObject([
      { file: large.$file, state: { status: 'failed', error } },
    ]);
    const asked = fixture.sync.count('/files');
    const small = await device.files.add(bytesOf(5));
    await fixture.platform.until(isAt(device, small, 'uploaded'));
    expect(fixture.sync.count('/files')).toBe(asked + 1);
    fixture.sync.files.sizeMax = 6;
    await device.files.retry(large);
    await fixture.platform.until(isAt(device, large, 'uploaded'));
    await expect(device.files.retry(large)).rejects.toMatchObject({ code: 'unknown_upload' });
    await fixture.finish(device.close());
  });

  it('[FILES-83] a file for which the quota has no room has failed, and says why', async () => {
    const device = await fixture.open();
    const refusal = new Refusal('quota_exceeded', 'the files of the user have 10 of 10 bytes');
    Object.assign(fixture.tidemark.files, { begin: () => Promise.reject(refusal) });
    const file = await device.files.add(bytesOf(4));
    const isFailed = isAt(device, file, 'failed');
    await fixture.platform.until(() => isFailed() || fixture.sync.count('/files') > 1);
    expect(stateOf(device, file)).toMatchObject({ error: { code: 'quota_exceeded', detail: refusal.message } });
    await fixture.finish(device.close());
  });

  it('[FILES-83] a failed file that the app discards is gone with its bytes', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    fixture.sync.files.sizeMax = 5;
    const large = await device.files.add(bytesOf(6));
    await fixture.platform.until(isAt(device, large, 'failed'));
    await device.files.discard(large);
    expect([stateOf(device, large), device.files.waiting.getSnapshot(), await entriesOf(store)]).toEqual([
      { status: 'missing' },
      [],
      [],
    ]);
    await fixture.finish(device.close());
  });

  it('[FILES-83] bytes that arrive wrong three times have failed', async () => {
    const device = await fixture.open();
    fixture.intercept = ({ method, path }, _go, init) =>
      method === 'PATCH'
        ? fixture.sync.fetch(`http://tidemark.test/sync/v1${path}`, { ...init, body: new Uint8Array(4) })
        : undefined;
    const file = await device.files.add(bytesOf(4));
    await fixture.platform.until(isAt(device, file, 'failed'));
    expect([stateOf(device, file), patches()]).toMatchObject([{ error: { code: 'file_hash_mismatch' } }, 3]);
    await fixture.finish(device.close());
  });

  it('[FILES-93] files wait on a metered network if the app wants that, and objects do not', async () => {
    const { platform } = fixture;
    let isMetered = true;
    const network = { ...platform.network, isMetered: () => isMetered };
    const device = await fixture.open({ files: { metered: false }, platform: platformWith(network) });
    const file = await device.files.add(bytesOf(4));
    await device.source('Visit').create({ photo: file });
    await fixture.finish(device.sync());
    expect([stateOf(device, file), device.status.getSnapshot().pendingUploads]).toEqual([{ status: 'local' }, 0]);
    isMetered = false;
    platform.setOnline(true);
    await platform.until(isAt(device, file, 'uploaded'));
    await fixture.finish(device.close());
  });

  it('[FILES-93] a file whose upload ends with the network, or because that is metered, is shown as on the device only', async () => {
    const { platform } = fixture;
    let isMetered = false;
    const network = { ...platform.network, isMetered: () => isMetered };
    const device = await fixture.open({ files: { metered: false }, platform: platformWith(network) });
    fixture.intercept = ({ method }, _go, init) => (method === 'PATCH' ? platform.hang(init) : undefined);
    const file = await device.files.add(bytesOf(4));
    await platform.until(isAt(device, file, 'uploading'));
    isMetered = true;
    platform.setOnline(true);
    await platform.until(isAt(device, file, 'local'));
    isMetered = false;
    platform.setOnline(true);
    await platform.until(isAt(device, file, 'uploading'));
    platform.setOnline(false);
    await platform.until(isAt(device, file, 'local'));
    await fixture.finish(device.close());
  });
});

const platformWith = (network: object) => {
  const { platform } = fixture;
  return {
    nowMs: () => platform.nowMs(),
    randomBytes: (count: number) => platform.randomBytes(count),
    after: (ms: number, callback: () => void) => platform.after(ms, callback),
    fetch: (url: string, init: RequestInit) => platform.fetch(url, init),
    network: network as typeof platform.network,
    tabs: null,
  };
};

describe('fetching', () => {
  it('[FILES-84] a file of another device is fetched in pieces, once, and is there without a network afterwards', async () => {
    const device = await fixture.open();
    const bytes = bytesOf(2 * FILE_PIECE_BYTES + 1);
    const reference = serve(bytes);
    expect(stateOf(device, reference)).toEqual({ status: 'missing' });
    const [first, second] = [readAll(device, reference), readAll(device, { $file: reference })];
    expect(hashOf(await fixture.finish(first))).toBe(reference.sha256);
    await fixture.finish(second);
    expect(fixture.sync.count(`/files/${reference.sha256}`)).toBe(3);
    fixture.platform.setOnline(false);
    expect(hashOf(await readAll(device, reference))).toBe(reference.sha256);
    expect(stateOf(device, reference)).toEqual({ status: 'uploaded' });
    await expect(device.files.blob(serve(bytesOf(3)))).rejects.toMatchObject({ code: 'offline' });
    await fixture.finish(device.close());
  });

  it('[FILES-84] a download follows a server that leaves it to the storage, and nothing else follows a redirect', async () => {
    const redirects = new Map<string, unknown>();
    fixture.intercept = ({ method, path }, _go, init) => {
      redirects.set(`${method} ${path.replace(/[0-9a-f]{64}/, 'sha256')}`, init.redirect);
      return undefined;
    };
    const device = await fixture.open();
    await fixture.finish(device.files.blob(serve(bytesOf(4))));
    const own = await device.files.add(bytesOf(5));
    await fixture.platform.until(isAt(device, own, 'uploaded'));
    expect(redirects.get('GET /files/sha256')).toBe('follow');
    redirects.delete('GET /files/sha256');
    expect([...redirects.keys()]).toContain('PATCH /files/uploads/sha256');
    expect(new Set(redirects.values())).toEqual(new Set(['error']));
    await fixture.finish(device.close());
  });

  it('[FILES-84] a download that was killed goes on behind the last piece', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    const reference = serve(bytesOf(3 * FILE_PIECE_BYTES));
    const path = `/files/${reference.sha256}`;
    fixture.intercept = (exchange, _go, init) =>
      exchange.path === path && fixture.sync.count(path) === 2 ? fixture.platform.hang(init) : undefined;
    device.files.blob(reference).catch(() => undefined);
    await fixture.platform.until(() => fixture.sync.count(path) === 2);
    await fixture.platform.until(() => stateOf(device, reference).status === 'downloading');
    fixture.platform.forgetTimers();
    fixture.intercept = () => undefined;
    const again = await fixture.open({ store, user: null });
    await fixture.finish(again.files.blob(reference));
    expect(fixture.sync.count(path)).toBe(3);
    await fixture.finish(again.close());
  });

  it('[FILES-84] bytes that are not those of the file are deleted, and the app is told', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    const reference = serve(bytesOf(5));
    fixture.sync.files.stored.set(reference.sha256, new Uint8Array(5));
    await expect(fixture.finish(device.files.blob(reference))).rejects.toMatchObject({ code: 'bad_answer' });
    expect(stateOf(device, reference)).toMatchObject({ status: 'failed', error: { code: 'bad_answer' } });
    expect(await entriesOf(store)).toEqual([]);
    await fixture.finish(device.close());
  });

  it('[FILES-84] a file whose object has arrived before it is fetched when the server has it', async () => {
    const device = await fixture.open();
    const bytes = bytesOf(9);
    const reference = serve(bytes);
    fixture.sync.files.stored.clear();
    await expect(fixture.finish(device.files.blob(reference))).rejects.toMatchObject({ code: 'file_not_found' });
    expect(stateOf(device, reference)).toMatchObject({ status: 'failed', error: { code: 'file_not_found' } });
    serve(bytes);
    await fixture.platform.until(isAt(device, reference, 'uploaded'));
    await fixture.finish(device.close());
  });

  it('[FILES-84] a file that never arrives is asked for so many times, and then again when the app wants it', async () => {
    const device = await fixture.open();
    const reference = serve(bytesOf(9));
    fixture.sync.files.stored.clear();
    const asked = () => fixture.sync.count(`/files/${reference.sha256}`);
    await expect(fixture.finish(device.files.blob(reference))).rejects.toMatchObject({ code: 'file_not_found' });
    await fixture.platform.until(() => asked() === FILE_MISSING_ATTEMPTS_MAX);
    await fixture.platform.advance(3 * PAUSE_MS_MAX);
    expect(asked()).toBe(FILE_MISSING_ATTEMPTS_MAX);
    await expect(fixture.finish(device.files.blob(reference))).rejects.toMatchObject({ code: 'file_not_found' });
    expect(asked()).toBe(FILE_MISSING_ATTEMPTS_MAX + 1);
    await fixture.finish(device.close());
  });

  it('[FILES-85] beyond the limit the files used longest ago leave the cache, and never one that waits to be sent', async () => {
    const store = lasting();
    const device = await fixture.open({ store, files: { cacheBytes: 250 } });
    fixture.intercept = ({ method }) => (method === 'PATCH' ? Promise.reject(new TypeError('no route')) : undefined);
    const own = await device.files.add(bytesOf(1_000));
    const [first, second, third] = [serve(bytesOf(100)), serve(bytesOf(101)), serve(bytesOf(102))];
    await fixture.finish(device.files.blob(first));
    await fixture.platform.advance(100_000);
    await fixture.finish(device.files.blob(second));
    await fixture.platform.advance(100_000);
    await fixture.finish(device.files.blob(first));
    await fixture.platform.advance(1);
    await fixture.finish(device.files.blob(third));
    await fixture.platform.until(isAt(device, second, 'missing'));
    expect([first, third].map((file) => stateOf(device, file).status)).toEqual(['uploaded', 'uploaded']);
    expect(hashOf(await readAll(device, own))).toBe(own.$file.sha256);
    expect(await entriesOf(store)).toHaveLength(3);
    await fixture.finish(device.close());
  });

  it('[FILES-86] the files that the rules of a source want are fetched in advance, and no others', async () => {
    const device = await fixture.open({
      files: { prefetch: { Visit: 'all', Note: { newest: 2, by: 'at' }, Order: 'none' } },
    });
    const files = Array.from({ length: 6 }, (_, n) => serve(bytesOf(50 + n)));
    const $ = (n: number) => ({ $file: { ...files[n] } });
    const push = (source: string, objects: object) =>
      fixture.tidemark.objects.push({ source, user_id: 'ada', objects: objects as never });
    await push('Visit', { 1: { photos: [$(0)] } });
    await push('Note', {
      1: { at: '2026-01-01', photo: $(1) },
      2: { at: '2026-03-01', photo: $(2) },
      3: { at: '2026-02-01', photo: $(3) },
    });
    await push('Order', { 1: { photo: $(4) } });
    await fixture.finish(device.sync());
    const statuses = () => files.map((file) => stateOf(device, file).status);
    const [here, away] = ['uploaded', 'missing'];
    await fixture.platform.until(() => statuses().filter((status) => status === here).length === 3);
    expect(statuses()).toEqual([here, away, here, here, away, away]);
    await push('Visit', { 2: { photo: $(5) } });
    await fixture.finish(device.sync());
    await fixture.platform.until(() => statuses()[5] === here);
    await fixture.finish(device.close());
  });
});
