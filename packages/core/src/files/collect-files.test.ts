import { createHash } from 'node:crypto';
import { memoryFileBytes, newTidemark, openMemoryStore, seededRandom } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { userPartition } from '../ports/owner.ts';
import type { CollectPosition, CollectReport } from './collect-files.ts';
import type { FileSender } from './file-arrivals.ts';
import { writeFilePlace } from './stored-files.ts';

const HOUR_MS = 3_600_000;
const GRACE_MS = 24 * HOUR_MS;
const SIZE = 100;
const BACKEND: FileSender = { kind: 'backend' };
const hash = (name: string) => createHash('sha256').update(name).digest('hex');
const file = (name: string) => ({ $file: { sha256: hash(name), size: SIZE, type: 'image/jpeg' } });

async function scene(options: Parameters<typeof newTidemark>[0] = {}) {
  const test = await newTidemark(options);
  const { tidemark, clock } = test;
  const bytes = memoryFileBytes(clock);
  const order = { source: 'Order', user_id: 'ada' };
  return {
    ...{ ...test, bytes, order },
    send: async (name: string, by: FileSender = BACKEND) => {
      const arrival = { sha256: hash(name), size: SIZE, by };
      await tidemark.files.arriving(arrival);
      bytes.put(hash(name), SIZE);
      await tidemark.files.stored(arrival);
    },
    refer: (name: string, id = '1') => tidemark.objects.push({ ...order, objects: { [id]: { photo: file(name) } } }),
    forget: (id = '1') => tidemark.objects.pushDeletes({ ...order, objects: [id] }),
    /** A whole round, one file at a time. */
    collect: async () => {
      const sum = { filesRemoved: 0, bytesRemoved: 0, uploadsDropped: 0 };
      let position: CollectPosition | undefined;
      for (let portions = 0; portions < 1_000; portions++) {
        const report: CollectReport = await tidemark.files.collect(bytes, { position, itemsMax: 1 });
        sum.filesRemoved += report.filesRemoved;
        sum.bytesRemoved += report.bytesRemoved;
        sum.uploadsDropped += report.uploadsDropped;
        if (report.next === null) return sum;
        position = report.next;
      }
      throw new Error('the round never ends');
    },
  };
}

const NOTHING = { filesRemoved: 0, bytesRemoved: 0, uploadsDropped: 0 };
const ONE_FILE = { ...NOTHING, filesRemoved: 1, bytesRemoved: SIZE };

it('[FILES-17] a file goes when nothing has referred to it for the grace period, with all that is known of it', async () => {
  const { tidemark, store, clock, bytes, send, refer, forget, collect } = await scene();
  await send('photo', { kind: 'user', login: 'ada' });
  await send('other');
  await refer('photo');
  await refer('other', '2');
  clock.advance(2 * GRACE_MS);
  expect(await collect()).toEqual(NOTHING);
  await forget();
  expect(await collect()).toEqual(NOTHING);
  clock.advance(GRACE_MS - 1);
  expect(await collect()).toEqual(NOTHING);
  clock.advance(1);
  expect(await collect()).toEqual(ONE_FILE);
  expect([...bytes.files.keys()]).toEqual([hash('other')]);
  expect(await tidemark.files.find(hash('photo'))).toBe(null);
  expect(await tidemark.files.usage()).toMatchObject({ files: 1, bytes: SIZE });
  expect(await store.countEntries('file_waiting')).toBe(0);
  for (const kind of ['file', 'file_claim', 'file_sender', 'file_missing'] as const) {
    expect(await store.listEntries({ kind, prefix: [hash('photo')], limit: 1 })).toEqual([]);
  }
  const again = { sha256: hash('photo'), size: 10_737_418_240, by: { kind: 'user', login: 'ada' } } as const;
  expect(await tidemark.files.begin(again)).toBe('needed');
});

it('[FILES-34] a file at which the engine fails does not keep the collector from the others, and is tried again', async () => {
  const { tidemark, clock, bytes, send } = await scene();
  for (const name of ['a', 'b', 'c']) await send(name);
  bytes.put(hash('unknown'), SIZE);
  const broken = new Set([hash('b'), hash('unknown')]);
  bytes.onAside = async (sha256) => {
    if (broken.has(sha256)) throw new Error('the disk failed');
  };
  clock.advance(GRACE_MS);
  const failed: string[] = [];
  const collect = async () => {
    let position: CollectPosition | undefined;
    let filesRemoved = 0;
    do {
      const onFailed = (what: string) => failed.push(what);
      const report: CollectReport = await tidemark.files.collect(bytes, { position, itemsMax: 2, onFailed });
      filesRemoved += report.filesRemoved;
      position = report.next ?? undefined;
    } while (position !== undefined);
    return filesRemoved;
  };
  expect(await collect()).toBe(2);
  expect(new Set(failed)).toEqual(new Set([...broken].map((sha256) => `the file ${sha256}`)));
  expect(await tidemark.files.find(hash('b'))).toMatchObject({ is_stored: true });
  expect(await tidemark.files.usage()).toMatchObject({ files: 1 });
  broken.clear();
  await collect();
  expect(bytes.files.size).toBe(0);
  expect(await tidemark.files.usage()).toMatchObject({ files: 0 });
});

it('[FILES-34] a failure of the store ends the round, and is not said to be one of a file', async () => {
  const store = openMemoryStore({ random: seededRandom(1) });
  const readEntry = store.readEntry.bind(store);
  let isDown = false;
  const failing: typeof readEntry = (ref) => (isDown ? Promise.reject(new Error('the store is down')) : readEntry(ref));
  const { tidemark, clock, bytes, send } = await scene({ store: Object.assign(store, { readEntry: failing }) });
  await send('photo');
  clock.advance(GRACE_MS);
  bytes.onAside = async () => {
    isDown = true;
  };
  const failed: string[] = [];
  const budget = { position: { stage: 'files' }, itemsMax: 10, onFailed: (what: string) => failed.push(what) } as const;
  await expect(tidemark.files.collect(bytes, budget)).rejects.toThrow('the store is down');
  expect(failed).toEqual([]);
  isDown = false;
  bytes.onAside = async () => {};
  await tidemark.files.collect(bytes, { ...budget, position: { stage: 'unfinished' } });
  expect([bytes.files.size, bytes.aside.size]).toEqual([1, 0]);
});

it('[FILES-17] a file that came before its object, or whose object came back, stays', async () => {
  const { tidemark, clock, send, refer, forget, collect } = await scene();
  await send('photo');
  clock.advance(GRACE_MS - 1);
  expect(await collect()).toEqual(NOTHING);
  await refer('photo');
  clock.advance(GRACE_MS);
  expect(await collect()).toEqual(NOTHING);
  await forget();
  await collect();
  clock.advance(GRACE_MS - 1);
  await refer('photo');
  clock.advance(GRACE_MS);
  expect(await collect()).toEqual(NOTHING);
  expect(await tidemark.files.mayRead('ada', hash('photo'))).toMatchObject({ isStored: true });
  await forget();
  await collect();
  clock.advance(GRACE_MS - 1);
  await tidemark.files.begin({ sha256: hash('photo'), size: SIZE, by: BACKEND });
  clock.advance(GRACE_MS - 1);
  expect(await collect()).toEqual(NOTHING);
  clock.advance(1);
  expect(await collect()).toEqual(ONE_FILE);
});

it('[FILES-18] a reference that is committed while the file is removed keeps it', async () => {
  const { tidemark, clock, bytes, send, refer, collect } = await scene();
  await send('photo');
  clock.advance(GRACE_MS);
  bytes.onAside = async () => void (await refer('photo'));
  expect(await collect()).toEqual(NOTHING);
  expect(bytes.files.has(hash('photo'))).toBe(true);
  expect(await tidemark.files.mayRead('ada', hash('photo'))).toMatchObject({ isStored: true });
});

it('[FILES-17] two collectors that overlap, at whichever step, remove a file once and count it once', async () => {
  for (const step of ['onAside', 'onAnswer'] as const) {
    const { tidemark, store, clock, bytes, send, refer, forget, collect } = await scene();
    for (const name of ['photo', 'plan']) await send(name, { kind: 'user', login: 'ada' });
    await refer('plan');
    await forget();
    await collect();
    clock.advance(GRACE_MS);
    let overlaps = 0;
    bytes[step] = async () => {
      if (overlaps++ < 4) await collect();
    };
    for (let round = 0; round < 3; round++) {
      await collect();
      clock.advance(GRACE_MS);
    }
    expect(overlaps).toBeGreaterThan(1);
    expect([bytes.files.size, bytes.aside.size]).toEqual([0, 0]);
    expect(await tidemark.files.usage()).toMatchObject({ files: 0, bytes: 0, missing: 0 });
    for (const kind of ['file', 'file_claim', 'file_sender', 'file_missing'] as const) {
      expect(await store.countEntries(kind)).toBe(0);
    }
    const [own] = await store.listEntries({ kind: 'file_usage', prefix: ['ada'], limit: 1 });
    expect(JSON.parse(own?.value ?? '{}')).toMatchObject({ files: 0, bytes: 0 });
  }
});

it('[FILES-18] a file that is sent again while it is out of the way of its removal stays', async () => {
  const { tidemark, clock, bytes, send, collect } = await scene();
  await send('photo');
  clock.advance(GRACE_MS);
  bytes.onAside = () => send('photo');
  expect(await collect()).toEqual(NOTHING);
  expect(bytes.files.has(hash('photo'))).toBe(true);
  expect(await tidemark.files.find(hash('photo'))).toMatchObject({ is_stored: true });
  expect(await tidemark.files.usage()).toMatchObject({ files: 1, bytes: SIZE });
});

it('[FILES-18] a file that is sent, or referred to, when its removal has been decided is missing and sent again', async () => {
  const { tidemark, clock, bytes, send, refer, collect } = await scene();
  await send('photo');
  await send('plan');
  clock.advance(GRACE_MS);
  bytes.onAnswer = async (sha256) => void (sha256 === hash('photo') ? await refer('photo') : await send('plan'));
  await collect();
  expect([...bytes.files.keys()]).toEqual([hash('plan')]);
  expect(await tidemark.files.find(hash('photo'))).toMatchObject({ is_stored: false, references: 1 });
  expect(await tidemark.files.find(hash('plan'))).toMatchObject({ is_stored: true });
  expect(await tidemark.files.usage()).toMatchObject({ files: 1, missing: 1 });
  expect(await tidemark.files.begin({ sha256: hash('photo'), size: SIZE, by: BACKEND })).toBe('needed');
});

it('[FILES-17] whoever has sent a file that was removed gets the quota back, also if an object refers to the file again at once', async () => {
  const { store, clock, bytes, send, refer, collect } = await scene();
  await send('photo', { kind: 'user', login: 'ada' });
  clock.advance(GRACE_MS);
  bytes.onAnswer = async () => void (await refer('photo'));
  await collect();
  await collect();
  const [usage] = await store.listEntries({ kind: 'file_usage', prefix: ['ada'], limit: 1 });
  expect(JSON.parse(usage?.value ?? '{}')).toMatchObject({ files: 0, bytes: 0 });
  expect(await store.listEntries({ kind: 'file_sender', prefix: [hash('photo')], limit: 1 })).toEqual([]);
});

it('[FILES-18] a commit that was under way while its claim was taken for idle claims again', async () => {
  const { tidemark, store, clock, bytes, send, refer, forget, collect } = await scene();
  await send('photo');
  await refer('photo');
  await forget();
  await collect();
  clock.advance(GRACE_MS);
  const { commit } = store;
  let isFirst = true;
  store.commit = async (given) => {
    if (isFirst) {
      isFirst = false;
      clock.advance(GRACE_MS);
      await collect();
      clock.advance(GRACE_MS);
      await collect();
    }
    return commit.call(store, given);
  };
  await refer('photo');
  expect(await store.objectsWithFile(userPartition('Order', 'ada'), hash('photo'), 1)).toEqual(['1']);
  await collect();
  clock.advance(GRACE_MS);
  await collect();
  const found = await tidemark.files.find(hash('photo'));
  expect(found).toMatchObject({ references: 1, is_stored: bytes.files.has(hash('photo')) });
});

it('[FILES-19] a removal that was interrupted is finished or undone, and expired uploads are dropped', async () => {
  const { clock, bytes, send, refer, collect } = await scene();
  await send('photo');
  await send('plan');
  await refer('plan');
  clock.advance(GRACE_MS);
  for (const name of ['photo', 'plan', 'unknown']) {
    const sha256 = hash(name);
    bytes.aside.set(sha256, { sha256, size: SIZE, storedMs: 0 });
    bytes.files.delete(sha256);
  }
  bytes.uploads.set('old', { id: 'old', changedMs: clock.nowMs() - 7 * GRACE_MS });
  bytes.uploads.set('new', { id: 'new', changedMs: clock.nowMs() - 7 * GRACE_MS + 1 });
  expect(await collect()).toEqual({ ...ONE_FILE, uploadsDropped: 1 });
  expect([[...bytes.files.keys()], bytes.aside.size, [...bytes.uploads.keys()]]).toEqual([[hash('plan')], 0, ['new']]);
});

it('[FILES-19] bytes of which nothing is known go after the grace period, and those of a missing file are found', async () => {
  const { tidemark, clock, bytes, refer, collect } = await scene();
  bytes.put(hash('unknown'), SIZE);
  bytes.put(hash('photo'), SIZE);
  await refer('photo');
  expect(await collect()).toEqual(NOTHING);
  expect(await tidemark.files.find(hash('photo'))).toMatchObject({ is_stored: true, senders: [] });
  expect(await tidemark.files.usage()).toMatchObject({ files: 1, bytes: SIZE, missing: 0 });
  clock.advance(GRACE_MS);
  expect(await collect()).toEqual(ONE_FILE);
  expect([...bytes.files.keys()]).toEqual([hash('photo')]);
});

it('[FILES-27] bytes of which the data knows nothing stay for the grace period after a restore, or in another place', async () => {
  const { store, clock, bytes, collect } = await scene();
  bytes.put(hash('unknown'), SIZE);
  clock.advance(GRACE_MS);
  await writeFilePlace(store, { id: 'another', place: '/another/place' }, clock.nowMs());
  clock.advance(GRACE_MS - 1);
  expect(await collect()).toEqual(NOTHING);
  clock.advance(1);
  expect(await collect()).toEqual(ONE_FILE);
});

it('[FILES-19] a file that never came and that nothing refers to is missing no longer', async () => {
  const { tidemark, store, clock, refer, forget, collect } = await scene();
  await refer('photo');
  await forget();
  expect(await tidemark.files.usage()).toMatchObject({ missing: 1 });
  await collect();
  expect(await tidemark.files.usage()).toMatchObject({ missing: 0 });
  await refer('photo');
  expect(await tidemark.files.usage()).toMatchObject({ missing: 1 });
  await forget();
  await collect();
  clock.advance(GRACE_MS);
  await collect();
  expect(await store.countEntries('file')).toBe(0);
});

it('[FILES-20] files of a deleted user, of a deleted source and of a reset go, unless somebody else refers to them', async () => {
  const { tidemark, clock, bytes, order, send, refer, collect } = await scene();
  for (const name of ['own', 'shared', 'product']) await send(name, { kind: 'user', login: 'ada' });
  await refer('own');
  await tidemark.objects.push({ ...order, objects: { 2: { photo: file('shared') } } });
  await tidemark.objects.push({
    source: 'Product',
    objects: { 1: { photo: file('shared') }, 2: { photo: file('product') } },
  });
  clock.advance(GRACE_MS);
  await tidemark.users.delete('ada');
  expect(await collect()).toEqual(ONE_FILE);
  expect([...bytes.files.keys()].sort()).toEqual([hash('shared'), hash('product')].sort());
  expect(await tidemark.files.mayRead('bob', hash('shared'))).toMatchObject({ isStored: true });
  await tidemark.sources.drop('Product');
  expect(await collect()).toMatchObject({ filesRemoved: 2 });
  await send('last');
  await tidemark.reset();
  clock.advance(GRACE_MS);
  expect(await collect()).toEqual(ONE_FILE);
  expect(bytes.files.size).toBe(0);
});

it('[FILES-20] nothing of a deleted user stays at the files of a group, which its members still read', async () => {
  const { tidemark, store, send, collect } = await scene();
  await tidemark.sources.declare({ name: 'Job', partition_type: 'group' });
  for (const login of ['ada', 'bob']) await tidemark.groups.set(login, ['north']);
  const { client_id: client } = await tidemark.clients.register('ada', {});
  const create = { op_id: 'op1', source: 'Job', op: 'create', id: 'j1', attributes: { photo: file('photo') } } as const;
  await tidemark.devices.push({ user: 'ada', client }, { changes: [create] });
  await send('photo', { kind: 'user', login: 'ada' });
  await tidemark.users.delete('ada');
  await collect();
  expect(await tidemark.files.mayRead('bob', hash('photo'))).toMatchObject({ isStored: true });
  const kinds = ['file', 'file_claim', 'file_sender', 'file_usage'] as const;
  const entries = await Promise.all(kinds.map((kind) => store.listEntries({ kind, prefix: [], limit: 10 })));
  expect(JSON.stringify(entries)).not.toContain('ada');
});

it('[FILES-15] a reference that is committed while the collector looks for one stays missing', async () => {
  const store = openMemoryStore({ random: seededRandom(1) });
  const look = store.objectsWithFile.bind(store);
  let whileLooking = async () => {};
  const objectsWithFile: typeof look = async (...args) => {
    const found = await look(...args);
    const once = whileLooking;
    whileLooking = async () => {};
    await once();
    return found;
  };
  const { tidemark, refer, forget, collect } = await scene({ store: Object.assign(store, { objectsWithFile }) });
  await refer('photo');
  await forget();
  whileLooking = () => refer('photo').then(() => {});
  await collect();
  await collect();
  expect(await tidemark.files.usage()).toMatchObject({ missing: 1 });
  expect((await tidemark.files.list({ kind: 'missing' }, {})).files).toMatchObject([{ sha256: hash('photo') }]);
});
