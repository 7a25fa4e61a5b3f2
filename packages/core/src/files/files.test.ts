import { createHash } from 'node:crypto';
import type { Upload } from '@tidemark/protocol';
import {
  memoryFileBytes,
  newTidemark,
  openMemoryStore,
  refusalOf,
  seededRandom,
  type TestTidemark,
} from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { Adapter } from '../ports/adapter.ts';
import { groupPartition, userPartition } from '../ports/owner.ts';
import type { CollectPosition } from './collect-files.ts';
import { FILE_ARRIVAL_MS, type FileSender } from './file-arrivals.ts';

const SIZE = 100;
const hash = (name: string) => createHash('sha256').update(name).digest('hex');
const file = (name: string) => ({ $file: { sha256: hash(name), size: SIZE, type: 'image/jpeg', name: `${name}.jpg` } });
const BACKEND: FileSender = { kind: 'backend' };
const by = (login: string): FileSender => ({ kind: 'user', login });

interface Scene extends TestTidemark {
  /** Sends the bytes of a file. */
  readonly send: (name: string, sender: FileSender) => Promise<void>;
  readonly mayRead: (user: string, name: string) => Promise<boolean>;
  /** Pushes, as a backend does, an object that refers to a file; an object without a name refers to none. */
  readonly refer: (
    call: { source?: string; user_id?: string; group?: string; id?: string },
    name?: string,
  ) => Promise<void>;
  /** Makes such an object on a device of the user. */
  readonly write: (user: string, change: Partial<Upload>, name: string) => Promise<string>;
}

/** A Tidemark in which ada and bob are in the group `north` of the source `Job`. */
async function scene(options: Parameters<typeof newTidemark>[0] = {}): Promise<Scene> {
  const test = await newTidemark(options);
  const { tidemark } = test;
  await tidemark.sources.declare({ name: 'Job', partition_type: 'group' });
  for (const login of ['ada', 'bob']) await tidemark.groups.set(login, ['north']);
  let ops = 0;
  return {
    ...test,
    send: async (name, sender) => {
      const arrival = { sha256: hash(name), size: SIZE, by: sender };
      await tidemark.files.arriving(arrival);
      await tidemark.files.stored(arrival);
    },
    mayRead: async (user, name) => (await tidemark.files.mayRead(user, hash(name))) !== null,
    refer: async ({ source = 'Order', id = '1', ...whose }, name) => {
      const objects = { [id]: name === undefined ? { photo: null } : { photo: file(name) } };
      await tidemark.objects.push({ source, objects, ...whose });
    },
    write: async (user, change, name) => {
      const { client_id: client } = await tidemark.clients.register(user, {});
      const whole = { op_id: `op${++ops}`, source: 'Order', op: 'create', id: 'd1', attributes: { photo: file(name) } };
      const changes = [{ ...whole, ...change } as Upload];
      const [outcome] = await tidemark.devices.push({ user, client }, { changes });
      expect(outcome).toMatchObject({ status: 'applied' });
      return client;
    },
  };
}

async function collectAll(
  { files }: TestTidemark['tidemark'],
  bytes: ReturnType<typeof memoryFileBytes>,
): Promise<void> {
  let position: CollectPosition | undefined;
  do {
    position = (await files.collect(bytes, { position, itemsMax: 100 })).next ?? undefined;
  } while (position !== undefined);
}

describe('who may read a file', () => {
  it('[FILES-5] a file that the backend refers to is read by those who read the object, once it is here', async () => {
    const { tidemark, refer, send, mayRead } = await scene();
    await refer({ user_id: 'ada' }, 'photo');
    expect(await tidemark.files.mayRead('ada', hash('photo'))).toEqual({
      sha256: hash('photo'),
      size: SIZE,
      isStored: false,
    });
    await send('photo', BACKEND);
    expect(await tidemark.files.mayRead('ada', hash('photo'))).toMatchObject({ isStored: true });
    expect(await mayRead('bob', 'photo')).toBe(false);
    await refer({ source: 'Product' }, 'photo');
    expect(await mayRead('bob', 'photo')).toBe(true);
    await refer({ source: 'Product' });
    expect(await mayRead('bob', 'photo')).toBe(false);
  });

  it('[FILES-6] a hash that a user only knows opens nothing in an object of their own', async () => {
    const { refer, send, write, mayRead } = await scene();
    await refer({ user_id: 'ada' }, 'photo');
    await send('photo', BACKEND);
    await write('bob', {}, 'photo');
    expect(await mayRead('bob', 'photo')).toBe(false);
    await write('bob', { source: 'Job', id: 'j1' }, 'photo');
    expect([await mayRead('bob', 'photo'), await mayRead('ada', 'photo')]).toEqual([false, true]);
  });

  it('[FILES-6] a user who can read a file passes it on by a reference, and keeps it so', async () => {
    const { refer, send, write, mayRead } = await scene();
    await refer({ user_id: 'ada' }, 'photo');
    await send('photo', BACKEND);
    await write('ada', { source: 'Job', id: 'j1' }, 'photo');
    expect(await mayRead('bob', 'photo')).toBe(true);
    await write('bob', {}, 'photo');
    await refer({ source: 'Job', group: 'north', id: 'j1' });
    expect(await mayRead('bob', 'photo')).toBe(true);
  });

  it('[FILES-7] a reference that was made before its bytes came is good once its author has sent them', async () => {
    const { write, send, mayRead } = await scene();
    await write('ada', { source: 'Job', id: 'j1' }, 'photo');
    await send('photo', by('bob'));
    expect([await mayRead('ada', 'photo'), await mayRead('bob', 'photo')]).toEqual([false, false]);
    await send('photo', by('ada'));
    expect([await mayRead('ada', 'photo'), await mayRead('bob', 'photo')]).toEqual([true, true]);
  });

  it('[FILES-7] bytes that the next user of a login sends prove nothing of what the one before had written', async () => {
    const { tidemark, write, send, mayRead } = await scene();
    await write('bob', { source: 'Job', id: 'j1' }, 'photo');
    await tidemark.users.delete('bob');
    await tidemark.users.create({ attributes: { login: 'bob', password: 'long enough' } });
    await send('photo', by('bob'));
    expect(await mayRead('ada', 'photo')).toBe(false);
  });

  it('[FILES-5] a file that the backend shares stays shared when a user is deleted who only knew its hash', async () => {
    const { tidemark, clock, refer, send, write, mayRead } = await scene();
    const bytes = memoryFileBytes(clock);
    bytes.put(hash('photo'), SIZE);
    await write('bob', { source: 'Job', id: 'j1' }, 'photo');
    await send('photo', BACKEND);
    await refer({ source: 'Job', group: 'north', id: 'j2' }, 'photo');
    expect(await mayRead('ada', 'photo')).toBe(true);
    await tidemark.users.delete('bob');
    await collectAll(tidemark, bytes);
    expect(await mayRead('ada', 'photo')).toBe(true);
  });

  it('[FILES-8] who has left the group cannot read its files any more, also by references of their own', async () => {
    const { tidemark, refer, send, write, mayRead } = await scene();
    await refer({ source: 'Job', group: 'north' }, 'photo');
    await send('photo', BACKEND);
    expect(await mayRead('bob', 'photo')).toBe(true);
    await tidemark.groups.set('bob', []);
    expect(await mayRead('bob', 'photo')).toBe(false);
    await write('bob', {}, 'photo');
    expect(await mayRead('bob', 'photo')).toBe(false);
  });

  it('[FILES-8] an adapter that names the groups of users is asked at every question', async () => {
    let groups: readonly string[] = ['east'];
    let asked = 0;
    const adapter = {
      groups: async () => {
        asked++;
        return groups;
      },
    } as unknown as Adapter;
    const { tidemark, refer, send, mayRead } = await scene({ adapters: { find: () => adapter } });
    await tidemark.sources.declare({ name: 'Site', partition_type: 'group', adapter: 'backend' });
    const { client_id: client } = await tidemark.clients.register('bob', {});
    await tidemark.devices.pull({ user: 'bob', client }, { sources: new Map([['Site', { groups: new Map() }]]) });
    await refer({ source: 'Site', group: 'east' }, 'photo');
    await send('photo', BACKEND);
    asked = 0;
    expect([await mayRead('bob', 'photo'), asked]).toEqual([true, 1]);
    groups = [];
    expect(await mayRead('bob', 'photo')).toBe(false);
    asked = 0;
    expect([await mayRead('bob', 'photo'), asked]).toEqual([false, 0]);
  });

  it('[FILES-9] a backend that repeats the reference of a device which lacks the file proves nothing', async () => {
    const adapter = {
      update: async () => ({ isPushed: true }),
      query: async () => ({ objects: {} }),
    } as unknown as Adapter;
    const { tidemark, refer, send, write, mayRead } = await scene({ adapters: { find: () => adapter } });
    await tidemark.sources.declare({ name: 'Visit', partition_type: 'user', adapter: 'backend' });
    await refer({ user_id: 'ada' }, 'photo');
    await send('photo', by('ada'));
    await refer({ source: 'Visit', user_id: 'bob', id: 'v1' });
    await write('bob', { source: 'Visit', op: 'update', id: 'v1' }, 'photo');
    await refer({ source: 'Visit', user_id: 'bob', id: 'v1' }, 'photo');
    expect(await mayRead('bob', 'photo')).toBe(false);
    await refer({ user_id: 'bob' }, 'photo');
    expect(await mayRead('bob', 'photo')).toBe(true);
    await refer({ user_id: 'bob' });
    await send('photo', BACKEND);
    expect(await mayRead('bob', 'photo')).toBe(true);
  });

  it('[FILES-9] what a user had written who was deleted since does not keep the backend from sharing the file', async () => {
    const { tidemark, refer, send, write, mayRead } = await scene();
    await tidemark.users.create({ attributes: { login: 'cid', password: 'long enough' } });
    await send('photo', by('cid'));
    await write('bob', { source: 'Job', id: 'j1' }, 'photo');
    await refer({ source: 'Job', group: 'north', id: 'j2' }, 'photo');
    expect(await mayRead('ada', 'photo')).toBe(false);
    await tidemark.users.delete('bob');
    await refer({ source: 'Job', group: 'north', id: 'j3' }, 'photo');
    expect(await mayRead('ada', 'photo')).toBe(true);
  });

  it('[FILES-35] a backend that publishes what a device has written after the grace period proves nothing, before its author sends the bytes', async () => {
    const adapter = {
      update: async () => ({ isPushed: true }),
      query: async () => ({ objects: {} }),
    } as unknown as Adapter;
    const graceMs = 3_600_000;
    const fileRules = { quotaBytes: 10 * SIZE, graceMs, uploadExpiresMs: graceMs };
    const { tidemark, clock, refer, send, write, mayRead } = await scene({
      adapters: { find: () => adapter },
      fileRules,
    });
    const bytes = memoryFileBytes(clock);
    const collect = () => collectAll(tidemark, bytes);
    await tidemark.sources.declare({ name: 'Visit', partition_type: 'user', adapter: 'backend' });
    await refer({ user_id: 'ada' }, 'photo');
    bytes.put(hash('photo'), SIZE);
    await send('photo', by('ada'));
    await refer({ source: 'Visit', user_id: 'bob', id: 'v1' });
    await write('bob', { source: 'Visit', op: 'update', id: 'v1' }, 'photo');
    for (let round = 0; round < 3; round++) {
      await collect();
      clock.advance(2 * graceMs);
    }
    await refer({ source: 'Visit', user_id: 'bob', id: 'v1' }, 'photo');
    expect(await mayRead('bob', 'photo')).toBe(false);
    await send('photo', by('bob'));
    expect(await mayRead('bob', 'photo')).toBe(true);
    for (const user of ['ada', 'bob']) await tidemark.users.delete(user);
    for (let round = 0; round < 4; round++) {
      await collect();
      clock.advance(2 * graceMs);
    }
    expect([bytes.files.size, await tidemark.files.find(hash('photo'))]).toEqual([0, null]);
  });

  it('[FILES-17] a file to which only somebody referred who did not have it stays for the grace period, too', async () => {
    const graceMs = 3_600_000;
    const fileRules = { quotaBytes: 10 * SIZE, graceMs, uploadExpiresMs: graceMs };
    const { tidemark, store, clock, send, write } = await scene({ fileRules });
    const bytes = memoryFileBytes(clock);
    bytes.put(hash('photo'), SIZE);
    await send('photo', BACKEND);
    await write('bob', {}, 'photo');
    clock.advance(2 * graceMs);
    await tidemark.objects.pushDeletes({ source: 'Order', user_id: 'bob', objects: ['d1'] });
    await collectAll(tidemark, bytes);
    clock.advance(graceMs - 1);
    await collectAll(tidemark, bytes);
    expect(await tidemark.files.find(hash('photo'))).toMatchObject({ is_stored: true });
    clock.advance(1);
    await collectAll(tidemark, bytes);
    expect([bytes.files.size, await tidemark.files.find(hash('photo'))]).toEqual([0, null]);
    expect(await store.countEntries('file_claim')).toBe(0);
  });

  it('[FILES-20] a reference that a user had made and taken back is forgotten with the user, while the file stays', async () => {
    const graceMs = 3_600_000;
    const fileRules = { quotaBytes: 10 * SIZE, graceMs, uploadExpiresMs: graceMs };
    const { tidemark, store, clock, refer, send, write } = await scene({ fileRules });
    const bytes = memoryFileBytes(clock);
    bytes.put(hash('photo'), SIZE);
    await refer({ user_id: 'ada' }, 'photo');
    await send('photo', BACKEND);
    await write('bob', { source: 'Job', id: 'j1' }, 'photo');
    await tidemark.objects.pushDeletes({ source: 'Job', group: 'north', objects: ['j1'] });
    const claims = async () => {
      await collectAll(tidemark, bytes);
      clock.advance(graceMs);
      await collectAll(tidemark, bytes);
      return store.countEntries('file_claim');
    };
    expect(await claims()).toBe(2);
    await tidemark.users.delete('bob');
    expect(await claims()).toBe(1);
    expect(await tidemark.files.find(hash('photo'))).toMatchObject({ is_stored: true, references: 1 });
  });

  it('[FILES-10] objects that move to another group take their files along, and nothing that was not proven', async () => {
    const { tidemark, refer, send, write, mayRead } = await scene();
    await refer({ user_id: 'ada' }, 'photo');
    await send('photo', BACKEND);
    await refer({ source: 'Job', group: 'north' }, 'plan');
    await send('plan', BACKEND);
    await write('bob', { source: 'Job', id: 'guess' }, 'photo');
    await tidemark.groups.set('bob', ['south']);
    await tidemark.objects.move({ source: 'Job', from: 'north', to: 'south', objects: ['1', 'guess'] });
    expect([await mayRead('bob', 'plan'), await mayRead('bob', 'photo')]).toEqual([true, false]);
  });

  it('[FILES-5] what was proven in the data of a user is not true of the next user of this login', async () => {
    const { tidemark, refer, send, write, mayRead } = await scene();
    await refer({ user_id: 'bob' }, 'photo');
    await send('photo', BACKEND);
    await tidemark.users.delete('bob');
    await tidemark.users.create({ attributes: { login: 'bob', password: 'long enough' } });
    await write('bob', {}, 'photo');
    expect(await mayRead('bob', 'photo')).toBe(false);
  });

  it('[FILES-6] the next user of a login cannot read what the one before has sent, by a reference of their own', async () => {
    const { tidemark, send, write, mayRead } = await scene();
    await send('photo', by('bob'));
    await tidemark.users.delete('bob');
    await tidemark.users.create({ attributes: { login: 'bob', password: 'long enough' } });
    await write('bob', {}, 'photo');
    expect(await mayRead('bob', 'photo')).toBe(false);
  });

  it('[FILES-5] a file with many references is found by the partitions of its reader', async () => {
    const { tidemark, refer, send, mayRead } = await scene();
    for (let at = 0; at < 120; at++) {
      await tidemark.objects.push({
        source: 'Job',
        group: `g${String(at).padStart(3, '0')}`,
        objects: { 1: { logo: file('logo') } },
      });
    }
    await send('logo', BACKEND);
    expect(await mayRead('ada', 'logo')).toBe(false);
    await refer({ user_id: 'ada' }, 'logo');
    expect([await mayRead('ada', 'logo'), await mayRead('bob', 'logo')]).toEqual([true, false]);
  });
});

describe('references in writes', () => {
  it('[FILES-11] every kind of write keeps the index of files', async () => {
    const { tidemark, store } = await scene();
    const order = { source: 'Order', user_id: 'ada' };
    const files = () => store.listFiles(userPartition('Order', 'ada'), { limit: 10 });
    const { objects } = tidemark;
    const [a, b] = [hash('a'), hash('b')].sort();
    await objects.push({ ...order, objects: { 1: { photo: file('a') } } });
    expect(await files()).toEqual([hash('a')]);
    await objects.push({ ...order, objects: { 1: { title: 'x', more: [file('b')] } } });
    expect(await files()).toEqual([a, b]);
    await objects.push({ ...order, objects: { 1: { title: 'y' } }, whole: true });
    expect(await files()).toEqual([]);
    await objects.fastInsert({ ...order, objects: { 2: { photo: file('a') } } });
    await objects.fastUpdate({ ...order, delete_data: {}, data: { 1: { photo: file('b') } } });
    expect(await files()).toEqual([a, b]);
    await objects.replace({ ...order, objects: { 1: { photo: file('a') }, 3: { photo: file('a') } }, since: null });
    expect(await files()).toEqual([hash('a')]);
    await objects.fastDelete({ ...order, data: { 1: { photo: file('a') } } });
    await objects.pushDeletes({ ...order, objects: ['3'] });
    expect(await files()).toEqual([]);
    const findings = [];
    for await (const finding of tidemark.verify()) findings.push(finding);
    expect(findings).toEqual([]);
  });

  it('[FILES-12] writes without files read and write nothing more, and neither do those that keep their files', async () => {
    const memory = openMemoryStore({ random: seededRandom(3) });
    const calls: string[] = [];
    const store = new Proxy(memory, {
      get: (engine, name) => {
        const member: unknown = Reflect.get(engine, name, engine);
        if (typeof member !== 'function') return member;
        calls.push(String(name));
        return member.bind(engine);
      },
    });
    const { tidemark, refer } = await scene({ store });
    const order = { source: 'Order', user_id: 'ada' };
    const callsOf = async (work: () => Promise<unknown>) => {
      calls.length = 0;
      await work();
      return calls.filter((name) => name !== 'commit' && name !== 'readObjects').join(' ');
    };
    await refer({ user_id: 'ada' }, 'photo');
    const plain = await callsOf(() => tidemark.objects.push({ ...order, objects: { 2: { a: 1 } } }));
    expect(plain).not.toContain('writeEntries');
    expect(await callsOf(() => tidemark.objects.push({ ...order, objects: { 1: { a: 1 } } }))).toBe(plain);
    expect(await callsOf(() => tidemark.objects.pushDeletes({ ...order, objects: ['1'] }))).toBe(plain);
    expect(await callsOf(() => tidemark.objects.push({ ...order, objects: { 2: { p: file('photo') } } }))).not.toBe(
      plain,
    );
  });

  it('[FILES-11] many objects with many files are written at once', async () => {
    const { tidemark, store } = await scene();
    const objects = Object.fromEntries(
      Array.from({ length: 150 }, (_, at) => [`o${at}`, { photo: file(`f${at % 70}`) }]),
    );
    await tidemark.objects.push({ source: 'Job', group: 'north', objects });
    expect((await store.listFiles(groupPartition('Job', 'north'), { limit: 100 })).length).toBe(70);
    expect((await tidemark.files.usage()).missing).toBe(70);
  });
});

describe('sending files', () => {
  it('[FILES-13] a file that is here is sent again by who could not read it, and by nobody else', async () => {
    const { tidemark, refer, send } = await scene();
    const begin = (login: string) => tidemark.files.begin({ sha256: hash('photo'), size: SIZE, by: by(login) });
    expect(await begin('ada')).toBe('needed');
    await send('photo', by('ada'));
    expect([await begin('ada'), await begin('bob')]).toEqual(['present', 'needed']);
    await refer({ user_id: 'bob' }, 'photo');
    expect(await begin('bob')).toBe('present');
    expect(await tidemark.files.begin({ sha256: hash('photo'), size: SIZE, by: BACKEND })).toBe('present');
    await tidemark.files.lost(hash('photo'));
    expect([await begin('ada'), await begin('bob')]).toEqual(['needed', 'needed']);
  });

  it('[FILES-100] who asks learns which files are lost that they have sent or may read, and of no others', async () => {
    const { tidemark, refer, send } = await scene();
    for (const name of ['own', 'plan', 'kept', 'foreign']) await refer({ user_id: 'bob', id: name }, name);
    await refer({ user_id: 'ada' }, 'plan');
    await send('own', by('ada'));
    for (const name of ['plan', 'kept', 'foreign']) await send(name, BACKEND);
    await send('forgotten', by('ada'));
    const lost = async (...names: string[]) => {
      const found = await tidemark.files.lostAmong('ada', names.map(hash));
      return names.filter((name) => found.includes(hash(name)));
    };
    const all = ['own', 'plan', 'kept', 'foreign', 'forgotten', 'unknown'];
    expect(await lost(...all)).toEqual([]);
    for (const name of ['own', 'plan', 'foreign', 'forgotten']) await tidemark.files.lost(hash(name));
    expect(await lost(...all)).toEqual(['own', 'plan']);
    expect(await lost('plan')).toEqual(['plan']);
  });

  it('[FILES-14] the bytes that a user has sent count once in the quota, up to its last byte', async () => {
    const fileRules = { quotaBytes: 2 * SIZE, graceMs: 3_600_000, uploadExpiresMs: 3_600_000 };
    const { tidemark, send } = await scene({ fileRules });
    const begin = (name: string, size = SIZE) => tidemark.files.begin({ sha256: hash(name), size, by: by('ada') });
    await send('one', by('ada'));
    await send('one', by('ada'));
    expect(await begin('two')).toBe('needed');
    expect(await refusalOf(begin('two', SIZE + 1))).toBe('quota_exceeded');
    await send('two', by('ada'));
    expect(await refusalOf(begin('three', 1))).toBe('quota_exceeded');
    expect(await refusalOf(tidemark.files.arriving({ sha256: hash('three'), size: 1, by: by('ada') }))).toBe(
      'quota_exceeded',
    );
    expect(await begin('two')).toBe('present');
    await send('three', by('bob'));
    await send('four', BACKEND);
    expect(await tidemark.files.usage()).toEqual({ files: 4, bytes: 4 * SIZE, missing: 0, oldest_missing_since: null });
    await tidemark.users.delete('ada');
    await tidemark.users.create({ attributes: { login: 'ada', password: 'long enough' } });
    expect(await begin('three', 2 * SIZE)).toBe('needed');
  });

  it('[FILES-14] a file that an earlier user of this login has sent needs room in the quota of the next one', async () => {
    const fileRules = { quotaBytes: SIZE, graceMs: 3_600_000, uploadExpiresMs: 3_600_000 };
    const { tidemark, send } = await scene({ fileRules });
    await send('photo', by('ada'));
    await tidemark.users.delete('ada');
    await tidemark.users.create({ attributes: { login: 'ada', password: 'long enough' } });
    await send('plan', by('ada'));
    const photo = { sha256: hash('photo'), size: SIZE, by: by('ada') };
    expect(await refusalOf(tidemark.files.begin(photo))).toBe('quota_exceeded');
    expect(await refusalOf(tidemark.files.arriving(photo))).toBe('quota_exceeded');
  });

  it('[FILES-32] the quota lets as many uploads pass that end at the same moment as it has room for', async () => {
    const quotaBytes = 2 * SIZE;
    const fileRules = { quotaBytes, graceMs: 3_600_000, uploadExpiresMs: 3_600_000 };
    const { tidemark, clock } = await scene({ fileRules });
    const arrival = (name: string, size = SIZE) => ({ sha256: hash(name), size, by: by('ada') });
    const { files } = tidemark;
    const names = ['one', 'two', 'three', 'four'];
    const ends = await Promise.allSettled(names.map((name) => files.arriving(arrival(name))));
    const passed = names.filter((_, index) => ends[index]?.status === 'fulfilled');
    expect(passed.length).toBe(2);
    const [first = '', second = ''] = passed;
    await files.arriving(arrival(first));
    expect(await refusalOf(files.begin(arrival('five', 1)))).toBe('quota_exceeded');
    await files.failed(arrival(second));
    await files.stored(arrival(first));
    await files.arriving(arrival('five'));
    expect(await refusalOf(files.arriving(arrival('six', 1)))).toBe('quota_exceeded');
    // A server that died between both calls does not take the room for ever.
    clock.advance(FILE_ARRIVAL_MS);
    await files.arriving(arrival('six'));
    await files.stored(arrival('six'));
    expect(await refusalOf(files.begin(arrival('seven', 1)))).toBe('quota_exceeded');
    expect(await files.usage()).toMatchObject({ files: 2, bytes: quotaBytes });
  });

  it('[FILES-32] an upload that fails takes no room from another one of the same file that goes on', async () => {
    const fileRules = { quotaBytes: SIZE, graceMs: 3_600_000, uploadExpiresMs: 3_600_000 };
    const { files } = (await scene({ fileRules })).tidemark;
    const arrival = (name: string) => ({ sha256: hash(name), size: SIZE, by: by('ada') });
    await files.arriving(arrival('one'));
    await files.arriving(arrival('one'));
    await files.failed(arrival('one'));
    expect(await refusalOf(files.arriving(arrival('two')))).toBe('quota_exceeded');
    await files.failed(arrival('one'));
    await files.arriving(arrival('two'));
    await files.stored(arrival('two'));
    expect(await refusalOf(files.arriving(arrival('one')))).toBe('quota_exceeded');
  });

  it('[FILES-32] a file that its user sends again keeps its room when the collector forgets the earlier time', async () => {
    const hour = 3_600_000;
    const fileRules = { quotaBytes: 2 * SIZE, graceMs: hour, uploadExpiresMs: hour };
    const { tidemark, store, clock, send } = await scene({ fileRules });
    const { files } = tidemark;
    const bytes = memoryFileBytes(clock);
    const arrival = (name: string) => ({ sha256: hash(name), size: SIZE, by: by('ada') });
    await send('again', by('ada'));
    clock.advance(hour);
    // The server dies when it has removed the file, and before it has forgotten who had sent it.
    const { writeEntries } = store;
    store.writeEntries = async (batch) => {
      const isForgetting = batch.writes.some(({ kind, value }) => kind === 'file_sender' && value === null);
      return isForgetting ? { status: 'conflict' } : writeEntries.call(store, batch);
    };
    await collectAll(tidemark, bytes);
    store.writeEntries = writeEntries;
    await files.arriving(arrival('again'));
    await collectAll(tidemark, bytes);
    await send('other', by('ada'));
    expect(await refusalOf(files.arriving(arrival('third')))).toBe('quota_exceeded');
    await files.stored(arrival('again'));
    expect(await refusalOf(files.arriving(arrival('third')))).toBe('quota_exceeded');
    expect(await files.usage()).toMatchObject({ files: 2, bytes: 2 * SIZE });
  });

  it('[FILES-32] a file that is stored once more leaves no room behind', async () => {
    const { store, send } = await scene();
    await send('again', by('ada'));
    await send('again', by('ada'));
    const [entry] = await store.listEntries({ kind: 'file_usage', prefix: ['ada'], limit: 1 });
    expect(JSON.parse(entry?.value ?? '')).toEqual({ generation: expect.any(Number), files: 1, bytes: SIZE });
  });

  it('[FILES-13] a user beyond the quota who only knows a hash is not told whether the file is here', async () => {
    const fileRules = { quotaBytes: SIZE, graceMs: 3_600_000, uploadExpiresMs: 3_600_000 };
    const { tidemark, send } = await scene({ fileRules });
    await send('own', by('ada'));
    await send('photo', by('bob'));
    const isPresent = (name: string) => tidemark.files.isPresent({ sha256: hash(name), size: SIZE, by: by('ada') });
    expect([await isPresent('photo'), await isPresent('nothing'), await isPresent('own')]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('[FILES-13] a user who was deleted while the bytes came has sent nothing', async () => {
    const { tidemark } = await scene();
    const arrival = { sha256: hash('photo'), size: SIZE, by: by('ada') };
    await tidemark.files.arriving(arrival);
    await tidemark.users.delete('ada');
    expect(await refusalOf(tidemark.files.stored(arrival))).toBe('user_not_found');
  });

  it('[FILES-13] an upload that ends after its user was deleted leaves nothing of the user', async () => {
    const { tidemark, store } = await scene();
    await tidemark.users.delete('ada');
    const arrival = { sha256: hash('photo'), size: SIZE, by: by('ada') };
    expect(await refusalOf(tidemark.files.arriving(arrival))).toBe('user_not_found');
    expect(await store.listEntries({ kind: 'file_usage', prefix: ['ada'], limit: 1 })).toEqual([]);
    expect(await tidemark.files.find(hash('photo'))).toBeNull();
  });

  it('[FILES-13] a user who is deleted at the moment at which a file becomes stored again has sent nothing', async () => {
    const { tidemark, store, send } = await scene();
    const arrival = { sha256: hash('photo'), size: SIZE, by: by('ada') };
    await send('photo', by('ada'));
    await tidemark.files.lost(hash('photo'));
    await tidemark.files.arriving(arrival);
    const { writeEntries } = store;
    store.writeEntries = async (given) => {
      store.writeEntries = writeEntries;
      await tidemark.users.delete('ada');
      return writeEntries.call(store, given);
    };
    expect(await refusalOf(tidemark.files.stored(arrival))).toBe('user_not_found');
    expect(await tidemark.files.find(hash('photo'))).toMatchObject({ is_stored: false });
  });
});

describe('lists of files', () => {
  it('[FILES-15] a file that an object refers to is missing until it has arrived, with its device, its size and since when', async () => {
    const { tidemark, clock, write, send, refer } = await scene();
    const since = new Date(clock.nowMs()).toISOString();
    const client = await write('ada', {}, 'photo');
    clock.advance(1_000);
    await refer({ source: 'Product' }, 'plan');
    expect(await tidemark.files.usage()).toEqual({ files: 0, bytes: 0, missing: 2, oldest_missing_since: since });
    const first = await tidemark.files.list({ kind: 'missing' }, { limit: 1 });
    const devices = [{ user_id: 'ada', client_id: client }];
    const photo = {
      sha256: hash('photo'),
      size: SIZE,
      type: 'image/jpeg',
      name: 'photo.jpg',
      is_stored: false,
      stored_at: null,
    };
    expect(first.files).toEqual([{ ...photo, missing_since: since, references: 1, senders: [], devices }]);
    const second = await tidemark.files.list({ kind: 'missing' }, { limit: 1, after: String(first.next) });
    expect(second.files.map(({ name, devices: none }) => [name, none])).toEqual([['plan.jpg', []]]);
    expect((await tidemark.files.waitingOn(client, 10)).map(({ sha256 }) => sha256)).toEqual([hash('photo')]);
    expect(await tidemark.files.waitingOn('another', 10)).toEqual([]);
    await send('photo', by('ada'));
    expect(await tidemark.files.find(hash('photo'))).toMatchObject({
      is_stored: true,
      missing_since: null,
      senders: ['ada'],
    });
    expect((await tidemark.files.list({ kind: 'missing' }, {})).files.map(({ name }) => name)).toEqual(['plan.jpg']);
    await tidemark.files.lost(hash('photo'));
    expect(await tidemark.files.find(hash('photo'))).toMatchObject({ is_stored: false, devices });
    expect(await tidemark.files.usage()).toMatchObject({ files: 0, bytes: 0, missing: 2 });
  });

  it('[FILES-16] files are listed by source and by user, and say which objects refer to them', async () => {
    const { tidemark, refer, write, send } = await scene();
    await refer({ user_id: 'ada' }, 'a');
    await refer({ source: 'Job', group: 'north', id: 'j1' }, 'b');
    await refer({ source: 'Job', group: 'north', id: 'j2' }, 'a');
    await write('bob', { source: 'Job', id: 'j3' }, 'c');
    await send('d', by('bob'));
    const names = async (scope: Parameters<typeof tidemark.files.list>[0]) => {
      const { files } = await tidemark.files.list(scope, {});
      return ['a', 'b', 'c', 'd'].filter((name) => files.some(({ sha256 }) => sha256 === hash(name))).join('');
    };
    expect(await names({ kind: 'all' })).toBe('abcd');
    expect(await names({ kind: 'source', source: 'Job' })).toBe('abc');
    expect(await names({ kind: 'user', user: 'ada' })).toBe('a');
    expect(await names({ kind: 'user', user: 'bob' })).toBe('cd');
    const first = await tidemark.files.where(hash('a'), { limit: 1 });
    const second = await tidemark.files.where(hash('a'), { limit: 1, after: String(first.next) });
    expect([...first.objects, ...second.objects]).toEqual([
      { ...groupPartition('Job', 'north'), object: 'j2' },
      { ...userPartition('Order', 'ada'), object: '1' },
    ]);
    expect(second.next).toBe(null);
    const pages: string[] = [];
    for (let after: string | undefined, more = true; more && pages.length < 9; ) {
      const page = await tidemark.files.list({ kind: 'all' }, { limit: 3, ...(after === undefined ? {} : { after }) });
      pages.push(...page.files.map(({ sha256 }) => sha256));
      after = page.next ?? undefined;
      more = page.next !== null;
    }
    expect(pages).toEqual(['a', 'b', 'c', 'd'].map(hash).sort());
  });
});

it('[FILES-16] a list of objects goes on when those of its last page refer to the file no longer', async () => {
  const { tidemark, store, refer } = await scene();
  for (const group of ['a', 'b', 'c']) await refer({ source: 'Job', group, id: group }, 'photo');
  const first = await tidemark.files.where(hash('photo'), { limit: 2 });
  expect(first.objects.map(({ object }) => object)).toEqual(['a', 'b']);
  await refer({ source: 'Job', group: 'b', id: 'b' });
  for (const { key } of await store.listEntries({ kind: 'file_claim', prefix: [hash('photo')], limit: 10 })) {
    if (key[2]?.endsWith('b') === true) {
      await store.writeEntries({ writes: [{ kind: 'file_claim', key, value: null }], guards: [] });
    }
  }
  const second = await tidemark.files.where(hash('photo'), { limit: 2, after: String(first.next) });
  expect(second.objects.map(({ object }) => object)).toEqual(['c']);
  expect(second.next).toBe(null);
});

it('[FILES-16] a list of objects that was read to its end stays at its end, and a list of files knows its last page', async () => {
  const { tidemark, refer } = await scene();
  for (const group of ['a', 'b']) await refer({ source: 'Job', group, id: group }, group);
  // The name of no partition comes behind it.
  expect(await tidemark.files.where(hash('a'), { after: '~' })).toEqual({ objects: [], next: null });
  expect((await tidemark.files.list({ kind: 'all' }, { limit: 2 })).next).toBeNull();
});

it('[FILES-16] a file that many have sent is listed for each of them, and not for the next user of a login', async () => {
  const { tidemark, store, send } = await scene();
  await send('logo', by('bob'));
  const others = Array.from({ length: 150 }, (_, number) => `a${number}`);
  const value = JSON.stringify({ life: 'earlier', generation: null, size: SIZE });
  const writes = others.map((login) => ({ kind: 'file_sender' as const, key: [hash('logo'), login], value }));
  await store.writeEntries({ writes, guards: [] });
  const filesOf = async (user: string) => (await tidemark.files.list({ kind: 'user', user }, {})).files.length;
  expect([await filesOf('bob'), await filesOf('ada'), await filesOf('a1')]).toEqual([1, 0, 0]);
  await tidemark.users.delete('bob');
  await tidemark.users.create({ attributes: { login: 'bob', password: 'long enough' } });
  expect(await filesOf('bob')).toBe(0);
});

it('[FILES-33] a missing file stays on the list of its device while another object of that refers to it', async () => {
  const graceMs = 3_600_000;
  const fileRules = { quotaBytes: 10 * SIZE, graceMs, uploadExpiresMs: graceMs };
  const { tidemark, clock } = await scene({ fileRules });
  const { client_id: client } = await tidemark.clients.register('bob', {});
  const change = { op: 'create', id: 'x', attributes: { photo: file('photo') } } as const;
  const changes = ['Order', 'Job'].map((source): Upload => ({ ...change, op_id: `in ${source}`, source }));
  await tidemark.devices.push({ user: 'bob', client }, { changes });
  await tidemark.objects.pushDeletes({ source: 'Order', user_id: 'bob', objects: ['x'] });
  for (let round = 0; round < 3; round++) {
    await collectAll(tidemark, memoryFileBytes(clock));
    clock.advance(graceMs);
  }
  expect((await tidemark.files.waitingOn(client, 10)).map(({ name }) => name)).toEqual(['photo.jpg']);
  expect(await tidemark.files.countMissing(userPartition('Order', 'bob'))).toBe(0);
  expect(await tidemark.files.countMissing(groupPartition('Job', 'north'))).toBe(1);
});

it('[FILES-33] what waits on a device or is missing in a partition is found without looking at other missing files', async () => {
  const store = openMemoryStore({ random: seededRandom(1) });
  const look = store.objectsWithFile.bind(store);
  let looks = 0;
  const objectsWithFile: typeof look = (...args) => {
    looks++;
    return look(...args);
  };
  const { tidemark, refer, send, write, clock } = await scene({ store: Object.assign(store, { objectsWithFile }) });
  const { files } = tidemark;
  const north = groupPartition('Job', 'north');
  for (let file = 0; file < 20; file++) await refer({ source: 'Job', group: 'north', id: `${file}` }, `photo ${file}`);
  await send('here', BACKEND);
  await refer({ user_id: 'ada', id: 'here' }, 'here');
  const client = await write('ada', {}, 'a');
  const looksFor = async <T>(question: Promise<T>): Promise<readonly [T, number]> => {
    looks = 0;
    return [await question, looks];
  };
  const waiting = async () => (await files.waitingOn(client, 10)).map(({ name }) => name);
  expect(await looksFor(waiting())).toEqual([['a.jpg'], 1]);
  expect(await looksFor(files.countMissing(userPartition('Order', 'ada')))).toEqual([1, 1]);
  expect(await looksFor(files.countMissing(north))).toEqual([20, 20]);
  await send('a', by('ada'));
  await send('photo 3', BACKEND);
  expect(await looksFor(waiting())).toEqual([[], 0]);
  expect(await looksFor(files.countMissing(north))).toEqual([19, 19]);
  clock.advance(1);
  await files.lost(hash('a'));
  expect(await looksFor(waiting())).toEqual([['a.jpg'], 1]);
  expect(await files.countMissing(userPartition('Order', 'ada'))).toBe(1);
  expect(await store.countEntries('file_waiting')).toBe(19 + 2);
});

it('[FILES-15] the device of a user who was deleted is not that of the next user of this login', async () => {
  const { tidemark, write } = await scene();
  await write('ada', { source: 'Job', id: 'j1' }, 'photo');
  await tidemark.users.delete('ada');
  await tidemark.users.create({ attributes: { login: 'ada', password: 'long enough' } });
  await tidemark.groups.set('ada', ['north']);
  const client = await write('ada', { source: 'Job', id: 'j2' }, 'photo');
  expect((await tidemark.files.find(hash('photo')))?.devices).toEqual([{ user_id: 'ada', client_id: client }]);
});

it('[FILES-21] a hundred files of different senders that arrive at the same moment are all counted', async () => {
  const { tidemark, send } = await scene();
  const names = Array.from({ length: 100 }, (_, index) => `photo ${index}`);
  await Promise.all(names.map((name, index) => send(name, index % 2 === 0 ? BACKEND : by('ada'))));
  expect(await tidemark.files.usage()).toMatchObject({ files: 100, bytes: 100 * SIZE });
});

it('[FILES-21] one file that is referred to in a hundred partitions at the same moment is claimed in all of them', async () => {
  const { tidemark, refer } = await scene();
  const groups = Array.from({ length: 100 }, (_, index) => `depot ${index}`);
  await tidemark.groups.set('ada', groups);
  await Promise.all(groups.map((group) => refer({ source: 'Job', group, id: group }, 'form')));
  expect(await tidemark.files.find(hash('form'))).toMatchObject({ references: 100 });
});

describe('what is known of missing files', () => {
  it('[FILES-25] explain names the file of an object that has not arrived, the device that has it, and since when', async () => {
    const { tidemark, write, send, refer } = await scene();
    const client = await write('ada', {}, 'photo');
    await refer({ user_id: 'ada', id: 'd1' }, 'photo');
    await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { d1: { plan: file('plan') } } });
    const { pages } = await tidemark.devices.pull({ user: 'ada', client }, { sources: new Map([['Order', null]]) });
    const page = pages[0]?.page;
    if (page === undefined || 'error' in page) throw new Error('there is no page');
    await tidemark.devices.acknowledge({ user: 'ada', client }, new Map([['Order', page.token]]));
    const explained = () => tidemark.delivery.explain(client, 'Order', 'd1');
    const first = await explained();
    expect(first.verdict).toBe('file_not_uploaded');
    expect(first.evidence.missing_files.map(({ name }) => name).sort()).toEqual(['photo.jpg', 'plan.jpg']);
    await send('plan', BACKEND);
    const { sentence } = await explained();
    expect(sentence).toContain(`refers to the file "photo.jpg" of ${SIZE} bytes: it is missing since 20`);
    expect(sentence).toContain(`and the device ${client} of "ada", which refers to it, has not sent it`);
    await send('photo', by('ada'));
    expect(await explained()).toMatchObject({ verdict: 'current', evidence: { missing_files: [] } });
    await tidemark.files.lost(hash('photo'));
    const { sentence: afterLoss } = await explained();
    expect(afterLoss).toContain('was sent, and the server has lost its bytes');
    expect(afterLoss).toContain(`the device ${client} of "ada", which refers to it, is asked for it again`);
    expect(afterLoss).not.toContain('has not sent it');
  });

  it('[FILES-22] a receipt counts the files of its partition that have not arrived', async () => {
    const { tidemark, write, send, refer } = await scene();
    await write('ada', {}, 'photo');
    await refer({ user_id: 'ada' }, 'plan');
    await refer({ source: 'Product' }, 'logo');
    const missing = async () => (await tidemark.receipts.read({ source: 'Order', user_id: 'ada' })).files_missing;
    expect(await missing()).toBe(2);
    await send('photo', by('ada'));
    expect(await missing()).toBe(1);
    await refer({ user_id: 'ada' });
    expect(await missing()).toBe(0);
  });
});
