import { DEFAULT_LIMITS, INTERVAL_S_MAX, Refusal, type RefusalCode, SOURCE_REFERENCES_MAX } from '@tidemark/protocol';
import { collectingLog, openMemoryStore, seededRandom, settableClock, weakPasswords } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { Users } from '../accounts/users.ts';
import { sharedPartition, userPartition } from '../ports/owner.ts';
import { Sources, type SourcesPorts } from './sources.ts';

function setUp(adapters?: SourcesPorts['adapters']) {
  const random = seededRandom(1);
  const store = openMemoryStore({ random });
  const clock = settableClock();
  const ports = {
    store,
    clock,
    random,
    passwords: weakPasswords(random),
    limits: DEFAULT_LIMITS,
    log: collectingLog(),
    ...(adapters === undefined ? {} : { adapters }),
  };
  return { store, clock, sources: new Sources(ports), users: new Users(ports) };
}

async function refusal(work: Promise<unknown>): Promise<RefusalCode | 'nothing'> {
  try {
    await work;
    return 'nothing';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

const plain = {
  name: 'Product',
  poll_interval: -1,
  partition_type: 'user',
  sync_type: 'incremental',
  queue: null,
  query_queue: null,
  cud_queue: null,
  adapter: 'none',
  conflicts: 'last_writer',
  read_only: false,
  filling: false,
  references: {},
  push_notify: false,
  schema: null,
  configured: false,
  created_at: '2023-11-14T22:13:20.000Z',
  updated_at: '2023-11-14T22:13:20.000Z',
  updated_by: null,
  counts: { objects: null },
};

const manyReferences = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, 'Customer']));

describe('declare', () => {
  it('[SOURCE-1] a declared source gets defaults for missing attributes', async () => {
    const { sources } = setUp();
    expect(await sources.declare({ name: 'Product' })).toEqual(plain);
    expect(await sources.get('Product')).toEqual(plain);
    expect(await sources.declare({ name: 'Polled', adapter: 'backend' })).toMatchObject({ poll_interval: 300 });
    const given = {
      name: 'Full',
      poll_interval: 0,
      partition_type: 'app',
      sync_type: 'bulk_only',
      queue: 'q',
      query_queue: 'qq',
      cud_queue: 'cq',
      adapter: 'my-module',
      conflicts: 'detect',
      read_only: true,
      references: { customer_id: 'Customer' },
      push_notify: true,
    };
    expect(await sources.declare(given)).toMatchObject(given);
    const references = manyReferences(SOURCE_REFERENCES_MAX);
    expect(await sources.declare({ name: 'Many', references })).toMatchObject({ references });
  });

  it('[SOURCE-2] of many sources declared with one name, also at once, the first succeeds and the others are refused', async () => {
    const { sources } = setUp();
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => refusal(sources.declare({ name: 'Product' }))));
    expect(outcomes.sort()).toEqual(['nothing', ...new Array(9).fill('source_exists')].sort());
  });

  it.each([
    ['no object', null, 'invalid_request'],
    ['no name', {}, 'invalid_request'],
    ['the name *', { name: '*' }, 'invalid_name'],
    ['a name of 300 characters', { name: 'x'.repeat(300) }, 'invalid_name'],
    ['an unknown attribute', { name: 'a', color: 1 }, 'invalid_request'],
    ['the key __proto__', JSON.parse('{"name":"a","__proto__":1}'), 'forbidden_key'],
    ['partition_type foo', { name: 'a', partition_type: 'foo' }, 'invalid_value'],
    ['sync_type foo', { name: 'a', sync_type: 'foo' }, 'invalid_value'],
    ['an adapter that is no name', { name: 'a', adapter: 7 }, 'invalid_value'],
    ['an empty queue', { name: 'a', queue: '' }, 'invalid_value'],
    ['conflicts foo', { name: 'a', conflicts: 'foo' }, 'invalid_value'],
    ['read_only that is no flag', { name: 'a', read_only: 1 }, 'invalid_value'],
    ['push_notify that is unknown', { name: 'a', push_notify: 'yes' }, 'invalid_value'],
    ['references that are none', { name: 'a', references: ['Customer'] }, 'invalid_value'],
    ['a reference to no source', { name: 'a', references: { customer_id: 7 } }, 'invalid_value'],
    ['a reference by no attribute', { name: 'a', references: { '': 'Customer' } }, 'invalid_value'],
    ['too many references', { name: 'a', references: manyReferences(SOURCE_REFERENCES_MAX + 1) }, 'invalid_value'],
    ['a queue that is no string', { name: 'a', cud_queue: 7 }, 'invalid_value'],
  ] as const)('[SOURCE-3] declaring a source is refused, given %s', async (_what, call, code) => {
    const { sources } = setUp();
    expect(await refusal(sources.declare(call))).toBe(code);
    expect(await sources.list()).toEqual([]);
  });
});

describe('update', () => {
  it('[SOURCE-4] an update changes the attributes that may change, and records who made it', async () => {
    const { sources, clock } = setUp();
    await sources.declare({ name: 'Product', queue: 'q' });
    clock.advance(1_000);
    const queues = { queue: null, query_queue: 'a', cud_queue: 'b' };
    const uploads = { conflicts: 'detect', read_only: true, references: { a: 'B' }, push_notify: true };
    const data = { poll_interval: 20, sync_type: 'bulk_only', ...queues, ...uploads };
    const updated = { ...plain, ...data, updated_at: '2023-11-14T22:13:21.000Z', updated_by: 'alice' };
    expect(await sources.update('Product', data, 'alice')).toEqual(updated);
    expect(await sources.get('Product')).toEqual(updated);
    expect(await sources.update('Product', {})).toMatchObject({ poll_interval: 20, updated_by: 'alice' });
  });

  it.each([
    [{ poll_interval: -2 }, 'invalid_value'],
    [{ poll_interval: 'x' }, 'invalid_value'],
    [{ poll_interval: '10' }, 'invalid_value'],
    [{ poll_interval: 1.5 }, 'invalid_value'],
    [{ poll_interval: null }, 'invalid_value'],
    [{ poll_interval: 2 ** 53 }, 'invalid_value'],
    [{ poll_interval: INTERVAL_S_MAX + 1 }, 'invalid_value'],
    [{ poll_interval: INTERVAL_S_MAX }, 'nothing'],
    [{ poll_interval: -1 }, 'nothing'],
    [{ poll_interval: 0 }, 'nothing'],
    [{ sync_type: null }, 'invalid_value'],
    [{ name: 'Other' }, 'immutable_attribute'],
    [{ partition_type: 'app' }, 'immutable_attribute'],
    [{ poll_interval: 5, color: 'red' }, 'invalid_request'],
    [{ configured: true }, 'invalid_request'],
    [null, 'invalid_request'],
    [[], 'invalid_request'],
  ] as const)(
    '[SOURCE-5] an update with %j is answered with %s, and changes nothing when it is refused',
    async (data, code) => {
      const { sources } = setUp();
      await sources.declare({ name: 'Product' });
      expect(await refusal(sources.update('Product', data))).toBe(code);
      if (code !== 'nothing') expect(await sources.get('Product')).toEqual(plain);
    },
  );

  it('[SOURCE-5] an update of an unknown source, or with an invalid user_name, is refused', async () => {
    const { sources } = setUp();
    expect(await refusal(sources.update('Nothing', {}))).toBe('source_not_found');
    expect(await refusal(sources.get('Nothing'))).toBe('source_not_found');
    await sources.declare({ name: 'Product' });
    expect(await refusal(sources.update('Product', {}, 7))).toBe('invalid_request');
    expect(await refusal(sources.update('Product', {}, null))).toBe('nothing');
  });

  it('[SOURCE-4] concurrent updates of one source are all applied', async () => {
    const { sources } = setUp();
    await sources.declare({ name: 'Product' });
    const queues = ['queue', 'query_queue', 'cud_queue'];
    await Promise.all(queues.map((queue) => sources.update('Product', { [queue]: queue })));
    expect(await sources.get('Product')).toMatchObject(Object.fromEntries(queues.map((queue) => [queue, queue])));
  });
});

describe('list', () => {
  it('[SOURCE-6] the list has all sources, or those of one partition type', async () => {
    const { sources } = setUp();
    for (const [name, partition_type] of [
      ['b', 'app'],
      ['c', 'user'],
      ['a', 'app'],
    ]) {
      await sources.declare({ name, partition_type });
    }
    expect((await sources.list()).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(await sources.listByType('app')).toEqual(['a', 'b']);
    expect(await sources.listByType('user')).toEqual(['c']);
    expect(await sources.partitionTypeOf('a')).toBe('app');
    expect(await sources.partitionTypeOf('x')).toBeNull();
    for (const type of ['foo', 'APP', '__proto__', '', undefined, 7]) {
      expect(await refusal(sources.listByType(type))).toBe('invalid_value');
    }
  });
});

describe('drop', () => {
  it('[SOURCE-7] deleting a source deletes its data and its refresh times', async () => {
    const { sources, users, store } = setUp();
    await users.create({ attributes: { login: 'alice', password: 'x' } });
    await sources.declare({ name: 'Kept' });
    await sources.declare({ name: 'Product' });
    for (const source of ['Kept', 'Product']) {
      await sources.refreshTimes.set(source, 'alice', 5);
      const changes = [{ id: '1', record: 'r', checksum: 1 }];
      await store.commit({ partition: userPartition(source, 'alice'), changes, guards: [] });
    }
    expect(await sources.drop('Product')).toEqual({ deleted: 'Product' });
    expect(await store.partitions({ limit: 9 })).toEqual([userPartition('Kept', 'alice')]);
    expect(JSON.stringify(await store.listEntries({ kind: 'setting', prefix: [], limit: 99 }))).not.toContain(
      'Product',
    );
    expect(await sources.refreshTimes.atMs(userPartition('Kept', 'alice'))).not.toBeNull();
    expect(await refusal(sources.drop('Product'))).toBe('source_not_found');
    expect(await refusal(sources.refreshTimes.set('Product', 'alice'))).toBe('source_not_found');
  });

  it('[SOURCE-7] deleting a source also deletes a refresh time that is set at the same time', async () => {
    for (let turns = 0; turns < 25; turns++) {
      const { sources, users, store } = setUp();
      await users.create({ attributes: { login: 'alice', password: 'x' } });
      await sources.declare({ name: 'Product' });
      const later = async () => {
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        return refusal(sources.refreshTimes.set('Product', 'alice'));
      };
      await Promise.all([sources.drop('Product'), later()]);
      const left = await store.listEntries({ kind: 'setting', prefix: [], limit: 99 });
      expect(left.filter(({ key }) => key.includes('Product'))).toEqual([]);
    }
  });
});

describe('refresh times', () => {
  it('[SOURCE-8] the refresh time is the given number of seconds from now, or now', async () => {
    const { sources, users } = setUp();
    await users.create({ attributes: { login: 'alice', password: 'x' } });
    await sources.declare({ name: 'Product' });
    await sources.declare({ name: 'News', partition_type: 'app' });
    const partition = userPartition('Product', 'alice');
    expect(await sources.refreshTimes.atMs(partition)).toBeNull();
    expect(await sources.refreshTimes.set('Product', 'alice', 90)).toEqual({ refresh_at: '2023-11-14T22:14:50.000Z' });
    expect(await sources.refreshTimes.atMs(partition)).toBe(1_700_000_090_000);
    for (const absent of [undefined, null, 0]) {
      expect(await sources.refreshTimes.set('Product', 'alice', absent)).toEqual({
        refresh_at: '2023-11-14T22:13:20.000Z',
      });
    }
    expect(await sources.refreshTimes.atMs(partition)).toBe(1_700_000_000_000);
    await sources.refreshTimes.set('News', 'alice', 5);
    expect(await sources.refreshTimes.atMs(sharedPartition('News'))).toBe(1_700_000_005_000);
  });

  it.each([
    ['10', 'invalid_request'],
    [true, 'invalid_request'],
    [1.5, 'invalid_value'],
    [-1, 'invalid_value'],
    [1e12, 'invalid_value'],
    [Number.NaN, 'invalid_value'],
    [INTERVAL_S_MAX + 1, 'invalid_value'],
    [INTERVAL_S_MAX, 'nothing'],
  ] as const)('[SOURCE-9] a refresh_time of %j is answered with %s', async (refreshTime, code) => {
    const { sources, users } = setUp();
    await users.create({ attributes: { login: 'alice', password: 'x' } });
    await sources.declare({ name: 'Product' });
    expect(await refusal(sources.refreshTimes.set('Product', 'alice', refreshTime))).toBe(code);
  });

  it('[SOURCE-9] setting the refresh time of an unknown source or user is refused', async () => {
    const { sources } = setUp();
    await sources.declare({ name: 'Product' });
    expect(await refusal(sources.refreshTimes.set('Product', 'nobody'))).toBe('user_not_found');
    expect(await refusal(sources.refreshTimes.set('Nothing', 'nobody'))).toBe('source_not_found');
    expect(await refusal(sources.refreshTimes.set('*', 'nobody'))).toBe('invalid_name');
  });
});

describe('configure', () => {
  it('[SOURCE-10] configured sources are declared or updated, and attributes that are not configured stay', async () => {
    const { sources, clock } = setUp();
    const config = [
      { name: 'Product', sync_type: 'bulk_only' },
      { name: 'News', partition_type: 'app' },
    ];
    await sources.configure(config);
    expect(await sources.get('Product')).toEqual({ ...plain, sync_type: 'bulk_only', configured: true });
    await sources.update('Product', { poll_interval: 7, sync_type: 'incremental' });
    await sources.declare({ name: 'Declared' });
    clock.advance(1_000);
    await sources.configure(config);
    expect(await sources.get('Product')).toMatchObject({ poll_interval: 7, sync_type: 'bulk_only', configured: true });
    expect(await sources.get('News')).toMatchObject({ updated_at: plain.updated_at, configured: true });
    expect(await sources.get('Declared')).toMatchObject({ configured: false });
    await sources.configure([{ name: 'Declared', adapter: 'backend' }]);
    expect(await sources.get('Declared')).toMatchObject({ configured: true, adapter: 'backend', poll_interval: 300 });
    expect(await sources.get('News')).toMatchObject({ configured: false });
  });

  it('[SOURCE-40] the adapter of a source can change, and an adapter that does not exist is refused with the known ones', async () => {
    const adapters = { find: () => null, names: () => ['backend', 'Stock'] };
    const { sources } = setUp(adapters);
    const detail = 'the adapter of a source must be one of none, backend, Stock, not "bakend"';
    await expect(sources.declare({ name: 'Part', adapter: 'bakend' })).rejects.toThrow(detail);
    await expect(sources.configure([{ name: 'Part', adapter: 'bakend' }])).rejects.toThrow(detail);
    expect(await sources.has('Part')).toBe(false);
    await sources.declare({ name: 'Part', adapter: 'Stock' });
    await expect(sources.update('Part', { adapter: 'bakend' })).rejects.toThrow(detail);
    expect(await sources.get('Part')).toMatchObject({ adapter: 'Stock', poll_interval: 300 });
    expect(await sources.update('Part', { adapter: 'none' })).toMatchObject({ adapter: 'none', poll_interval: -1 });
    expect(await sources.update('Part', { adapter: 'backend' })).toMatchObject({ adapter: 'backend' });
  });

  it('[SOURCE-10] a configuration that changes the partition type is refused, because the data would become unreachable', async () => {
    const { sources } = setUp();
    await sources.configure([{ name: 'Product' }]);
    const config = [{ name: 'Product', partition_type: 'app' }];
    expect(await refusal(sources.configure(config))).toBe('immutable_attribute');
    expect(await refusal(sources.configure([{ name: 'New' }, { name: '*' }]))).toBe('invalid_name');
    expect(await sources.has('New')).toBe(false);
  });
});
