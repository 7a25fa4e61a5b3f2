import { FOOTPRINT_ATTRIBUTES_MAX, type Outcome, UPLOADS_PER_PUSH_MAX, type Upload } from '@tidemark/protocol';
import { newTidemark, refusalOf, type TestTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { DeviceId } from '../devices/device-id.ts';
import { userPartition } from '../ports/owner.ts';

const WEEK_MS = 7 * 24 * 3_600_000;
const orders = { source: 'Order', user_id: 'ada' };

interface Scene extends TestTidemark {
  readonly device: DeviceId;
  readonly push: (...changes: Partial<Upload>[]) => Promise<readonly Outcome[]>;
}

/** A device of ada that uploads to `Order`, with defaults for what a test does not name. */
async function scene(settings: Record<string, unknown> = {}): Promise<Scene> {
  const test = await newTidemark();
  await test.tidemark.sources.update('Order', settings);
  const device = await newDevice(test, 'ada');
  return { ...test, device, push: (...changes) => pushAs(test, device, changes) };
}

async function newDevice({ tidemark }: TestTidemark, user: string): Promise<DeviceId> {
  return { user, client: (await tidemark.clients.register(user, {})).client_id };
}

let opCount = 0;

function pushAs({ tidemark }: TestTidemark, device: DeviceId, changes: readonly Partial<Upload>[]) {
  const whole = changes.map((change): Upload => {
    opCount += 1;
    return { op_id: `op${opCount}`, source: 'Order', op: 'update', id: '1', ...change };
  });
  return tidemark.devices.push(device, { changes: whole });
}

const objects = async ({ tidemark }: TestTidemark, call: { source: string; user_id?: string } = orders) =>
  Object.fromEntries(await tidemark.objects.read(call));

async function tokenOf({ tidemark }: TestTidemark, device: DeviceId): Promise<string> {
  const { pages } = await tidemark.devices.pull(device, { sources: new Map([['Order', null]]) });
  const page = pages[0]?.page;
  if (page === undefined || 'error' in page) throw new Error('there is no page');
  return page.token;
}

/** Makes `act` happen before the next objects are read. */
function beforeRead({ store }: TestTidemark, act: () => Promise<unknown>): void {
  const { readObjects } = store;
  store.readObjects = async (...call) => {
    store.readObjects = readObjects;
    await act();
    return readObjects.apply(store, call);
  };
}

const waitingOf = async ({ tidemark, device }: Scene) => {
  const { outcomes } = await tidemark.devices.pull(device, { sources: new Map([['Order', null]]) });
  return outcomes;
};

const applied = (id: string) => ({
  op_id: expect.any(String) as string,
  source: 'Order',
  status: 'applied' as const,
  id,
});

describe('uploads', () => {
  it('[UPLOAD-1] create, update and delete change md like any other write', async () => {
    const test = await scene();
    expect(await test.push({ op: 'create', id: 'new', attributes: { a: 1, b: 2 } })).toEqual([applied('new')]);
    expect(await test.push({ op: 'update', id: 'new', attributes: { b: 3 } })).toEqual([applied('new')]);
    expect(await objects(test)).toEqual({ new: { a: 1, b: 3 } });
    expect(await test.push({ op: 'delete', id: 'new' })).toEqual([applied('new')]);
    expect(await objects(test)).toEqual({});
    expect(await test.push({ op: 'delete', id: 'never there' })).toEqual([applied('never there')]);
  });

  it('[UPLOAD-1] uploads to a shared source change the data of all users', async () => {
    const test = await scene();
    await test.push({ source: 'Product', op: 'create', id: 'p', attributes: { a: 1 } });
    const bob = await newDevice(test, 'bob');
    await pushAs(test, bob, [{ source: 'Product', op: 'update', id: 'p', attributes: { b: 2 } }]);
    expect(await objects(test, { source: 'Product' })).toEqual({ p: { a: 1, b: 2 } });
  });

  it('[UPLOAD-2] an upload with the same op id repeats the outcome and never the effect', async () => {
    const test = await scene();
    const create = { op_id: 'once', op: 'create', id: 'n', attributes: { a: 1 } } as const;
    const [first] = await test.push(create);
    await test.push({ op: 'delete', id: 'n' });
    expect(await test.push(create)).toEqual([first]);
    // The content of the repetition does not matter, because the upload is known by its op id.
    expect(await test.push({ ...create, op: 'update', attributes: { a: 9 } })).toEqual([first]);
    expect(await objects(test)).toEqual({});
    const twice = await test.push(
      { op_id: 'd', op: 'create', id: 'm', attributes: { a: 1 } },
      { op_id: 'd', op: 'delete', id: 'm' },
    );
    expect(twice.map(({ status }) => status)).toEqual(['applied', 'applied']);
    expect(await objects(test)).toEqual({ m: { a: 1 } });
  });

  it('[UPLOAD-2] an upload that arrives many times at once is applied once', async () => {
    const test = await scene();
    const change = { op_id: 'same', op: 'create', id: 'n', attributes: { a: 1 } } as const;
    const answers = await Promise.all(Array.from({ length: 10 }, () => test.push(change)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect((await test.tidemark.objects.partition(orders)).head).toBe(1);
  });

  it('[UPLOAD-2] equal op ids of different devices or sources are different uploads', async () => {
    const test = await scene();
    const other = await newDevice(test, 'ada');
    await test.push({ op_id: 'x', op: 'create', id: '1', attributes: { a: 1 } });
    await pushAs(test, other, [{ op_id: 'x', op: 'update', id: '1', attributes: { a: 2 } }]);
    await test.push({ op_id: 'x', source: 'Product', op: 'create', id: '1', attributes: { a: 3 } });
    expect([await objects(test), await objects(test, { source: 'Product' })]).toEqual([
      { 1: { a: 2 } },
      { 1: { a: 3 } },
    ]);
  });

  it('[UPLOAD-3] uploads to one object are applied in order, and outcomes are returned in the order of the call', async () => {
    const test = await scene();
    const outcomes = await test.push(
      { op: 'create', id: 'a', attributes: { n: 1 } },
      { source: 'Product', op: 'create', id: 'p', attributes: { n: 1 } },
      { op: 'update', id: 'a', attributes: { n: 2 } },
      { op: 'create', id: 'b', attributes: { n: 1 } },
      { op: 'update', id: 'a', attributes: { n: 3, m: 1 } },
      { op: 'delete', id: 'b' },
      { op: 'create', id: 'b', attributes: { again: true } },
    );
    expect(outcomes.map(({ source, id, status }) => [source, id, status])).toEqual([
      ['Order', 'a', 'applied'],
      ['Product', 'p', 'applied'],
      ['Order', 'a', 'applied'],
      ['Order', 'b', 'applied'],
      ['Order', 'a', 'applied'],
      ['Order', 'b', 'applied'],
      ['Order', 'b', 'applied'],
    ]);
    expect(await objects(test)).toEqual({ a: { n: 3, m: 1 }, b: { again: true } });
  });

  it('[UPLOAD-18] uploads to one object are applied in their order, also when only some of them name its group', async () => {
    const test = await scene();
    const { tidemark } = test;
    await tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
    await tidemark.groups.set('ada', ['north']);
    await tidemark.objects.push({ source: 'Visit', group: 'north', objects: { a: { n: 0 } } });
    const updateTo = (n: number, group: object = {}): Partial<Upload> => ({
      ...{ source: 'Visit', id: 'a', attributes: { n } },
      ...group,
    });
    const outcomes = await test.push(updateTo(1), updateTo(2, { group: 'north' }), updateTo(3));
    expect(outcomes.map(({ status, group }) => [status, group])).toEqual(Array(3).fill(['applied', 'north']));
    expect(await tidemark.objects.read({ source: 'Visit', group: 'north' })).toEqual(new Map([['a', { n: 3 }]]));
  });

  it('[UPLOAD-4] a create of a taken id and an update of a missing object change nothing and return the current object', async () => {
    const test = await scene();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1 } } });
    const [taken, gone, fine] = await test.push(
      { op: 'create', id: '1', attributes: { a: 2 } },
      { op: 'update', id: 'gone', attributes: { a: 2 } },
      { op: 'update', id: '1', attributes: { b: 2 } },
    );
    expect(taken).toMatchObject({ status: 'rejected', error: { code: 'object_exists' }, current: { a: 1, b: 2 } });
    expect(gone).toMatchObject({ status: 'conflict', error: { code: 'object_not_found' }, current: null });
    expect(fine).toMatchObject({ status: 'applied' });
    expect(await objects(test)).toEqual({ 1: { a: 1, b: 2 } });
  });

  it.each([
    ['an object without attributes', { op: 'create', attributes: {} }, 'invalid_value'],
    ['no attributes', { op: 'create' }, 'invalid_request'],
    ['an empty id', { op: 'create', id: '', attributes: { a: 1 } }, 'invalid_name'],
    ['an id that is too long', { op: 'delete', id: 'x'.repeat(100_000) }, 'invalid_name'],
    ['an id of broken Unicode', { op: 'delete', id: '\ud800' }, 'invalid_name'],
    ['a number that is not exact', { op: 'update', attributes: { a: 2 ** 60 } }, 'unsafe_number'],
    [
      '__proto__ deep down',
      { op: 'update', attributes: JSON.parse('{"a":{"__proto__":1}}') as object },
      'forbidden_key',
    ],
    ['an unknown source', { source: 'Nope', attributes: { a: 1 } }, 'source_not_found'],
    ['an illegal source name', { source: '*', attributes: { a: 1 } }, 'invalid_name'],
  ] as const)('[UPLOAD-5] a change with %s is rejected alone, and the others are applied', async (_what, bad, code) => {
    const test = await scene();
    const good = { op: 'create', id: 'good', attributes: { a: 1 } } as const;
    const outcomes = await test.push(bad as Partial<Upload>, good);
    expect(outcomes).toMatchObject([{ status: 'rejected', error: { code } }, { status: 'applied' }]);
    expect(await objects(test)).toEqual({ good: { a: 1 } });
  });

  it('[UPLOAD-4] a create of a taken id is decided again when the object is deleted before its outcome is stored', async () => {
    const test = await scene();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1 } } });
    const { commit } = test.store;
    test.store.commit = async (call) => {
      test.store.commit = commit;
      await test.tidemark.objects.pushDeletes({ ...orders, objects: ['1'] });
      return commit.call(test.store, call);
    };
    expect(await test.push({ op: 'create', attributes: { b: 1 } })).toEqual([applied('1')]);
    expect(await objects(test)).toEqual({ 1: { b: 1 } });
  });

  it('[UPLOAD-5] a read-only source rejects all uploads', async () => {
    const test = await scene({ read_only: true });
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1 } } });
    expect(await test.push({ op: 'delete', id: '1' })).toMatchObject([
      { status: 'rejected', error: { code: 'source_read_only' }, current: { a: 1 } },
    ]);
  });

  it('[UPLOAD-6] a call with an illegal op id or too many changes is refused whole', async () => {
    const test = await scene();
    const good = { op: 'create', id: 'good', attributes: { a: 1 } } as const;
    for (const op_id of ['', 'x'.repeat(129), 'a\nb', '\ud800']) {
      expect(await refusalOf(test.push(good, { ...good, op_id }))).toBe('invalid_value');
    }
    const many = Array.from({ length: UPLOADS_PER_PUSH_MAX + 1 }, (_, index) => ({ ...good, id: String(index) }));
    expect(await refusalOf(test.push(...many))).toBe('limit_exceeded');
    expect(await objects(test)).toEqual({});
    expect((await test.push(...many.slice(1))).length).toBe(UPLOADS_PER_PUSH_MAX);
  });

  it('[UPLOAD-6] a call of another user or a deleted device is refused', async () => {
    const test = await scene();
    const change = { op_id: 'o', source: 'Order', op: 'create', id: '1', attributes: { a: 1 } } as const;
    const stranger = { user: 'bob', client: test.device.client };
    expect(await refusalOf(test.tidemark.devices.push(stranger, { changes: [change] }))).toBe('client_not_found');
    await test.tidemark.clients.delete('ada', test.device.client);
    expect(await refusalOf(test.push(change))).toBe('client_not_found');
    expect(await objects(test)).toEqual({});
  });
});

describe('outcomes', () => {
  it('[UPLOAD-7] outcomes are sent with every pull until they are acknowledged', async () => {
    const test = await scene();
    const outcomes = await test.push(
      { op: 'create', id: 'a', attributes: { n: 1 } },
      { op: 'update', id: 'gone', attributes: { n: 1 } },
    );
    const byOpId = (left: Outcome, right: Outcome) => (left.op_id < right.op_id ? -1 : 1);
    expect([...(await waitingOf(test))].sort(byOpId)).toEqual([...outcomes].sort(byOpId));
    const [first, second] = outcomes;
    const sources = new Map([['Order', null]]);
    const acknowledged = new Map([['Order', [first?.op_id ?? '', 'never heard of']]]);
    const pulled = await test.tidemark.devices.pull(test.device, { sources, acknowledged });
    expect(pulled.outcomes).toEqual([second]);
    await test.tidemark.devices.push(test.device, {
      changes: [],
      acknowledged: new Map([['Order', [second?.op_id ?? '']]]),
    });
    expect(await waitingOf(test)).toEqual([]);
  });

  it('[UPLOAD-7] outcomes are also sent for a source that is not delivered in pages', async () => {
    const test = await scene({ sync_type: 'bulk_only' });
    const outcomes = await test.push({ op: 'create', id: 'a', attributes: { n: 1 } });
    expect(await waitingOf(test)).toEqual(outcomes);
  });

  it('[UPLOAD-7] outcomes are sent only to the device that uploaded', async () => {
    const test = await scene();
    await test.push({ op: 'create', id: 'a', attributes: { n: 1 } });
    const other = await newDevice(test, 'ada');
    expect(await waitingOf({ ...test, device: other })).toEqual([]);
  });

  it('[UPLOAD-8] an acknowledged upload is remembered for a week', async () => {
    const test = await scene();
    const create = { op_id: 'once', op: 'create', id: 'n', attributes: { a: 1 } } as const;
    const [outcome] = await test.push(create);
    const acknowledge = (opId: string) =>
      test.tidemark.devices.push(test.device, { changes: [], acknowledged: new Map([['Order', [opId]]]) });
    await acknowledge('once');
    await test.push({ op: 'delete', id: 'n' });
    test.clock.advance(WEEK_MS - 1);
    expect(await test.push(create)).toEqual([outcome]);
    expect(await objects(test)).toEqual({});
    test.clock.advance(1);
    await test.push({ op_id: 'later', op: 'create', id: 'm', attributes: { a: 1 } });
    await test.push(create);
    expect(await objects(test)).toEqual({ n: { a: 1 }, m: { a: 1 } });
  });

  it('[UPLOAD-8] uploads of a device that acknowledges nothing are refused at the limit', async () => {
    const test = await scene();
    const batch = (from: number) =>
      test.push(...Array.from({ length: 1_000 }, (_, index) => ({ op: 'delete' as const, id: String(from + index) })));
    for (let round = 0; round < 10; round++) await batch(round * 1_000);
    expect(await refusalOf(test.push({ op: 'delete', id: 'x' }))).toBe('limit_exceeded');
    const [first] = await waitingOf(test);
    await test.tidemark.devices.push(test.device, {
      changes: [],
      acknowledged: new Map([['Order', [first?.op_id ?? '']]]),
    });
    expect(await test.push({ op: 'delete', id: 'x' })).toMatchObject([{ status: 'applied' }]);
  });
});

describe('conflicts', () => {
  const detect = () => scene({ conflicts: 'detect' });

  it('[UPLOAD-9] without conflict detection the last upload wins, attribute by attribute', async () => {
    const test = await scene();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1, b: 1 } } });
    const seen = await tokenOf(test, test.device);
    const other = await newDevice(test, 'ada');
    await pushAs(test, other, [{ attributes: { a: 2, b: 2 }, seen }]);
    expect(await test.push({ attributes: { b: 3 }, seen })).toMatchObject([{ status: 'applied' }]);
    expect(await objects(test)).toEqual({ 1: { a: 2, b: 3 } });
  });

  it('[UPLOAD-10] with conflict detection, an update of an attribute that another writer has changed since is a conflict', async () => {
    const test = await detect();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1, b: 1, c: 1 } } });
    const seen = await tokenOf(test, test.device);
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 2 } } });
    await test.tidemark.objects.fastDelete({ ...orders, data: { 1: { c: 1 } } });
    const conflict = { status: 'conflict', error: { code: 'object_changed' }, current: { a: 2, b: 1 } };
    expect(await test.push({ attributes: { a: 3 }, seen })).toMatchObject([conflict]);
    expect(await test.push({ attributes: { c: 3 }, seen })).toMatchObject([conflict]);
    expect(await test.push({ op: 'delete', seen })).toMatchObject([conflict]);
    expect(await objects(test)).toEqual({ 1: { a: 2, b: 1 } });
    // Changes of other attributes, or to equal values, are no conflicts.
    expect(await test.push({ attributes: { b: 3, a: 2 }, seen })).toMatchObject([{ status: 'applied' }]);
    expect(await objects(test)).toEqual({ 1: { a: 2, b: 3 } });
    const now = await tokenOf(test, test.device);
    expect(await test.push({ op: 'delete', seen: now })).toMatchObject([{ status: 'applied' }]);
  });

  it('[UPLOAD-15] an update removes the attributes it names, and an object without attributes is gone', async () => {
    const test = await scene();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1, b: 2, c: 3 } } });
    await test.push({ op: 'update', id: '1', attributes: { a: 9 }, removed: ['b', 'never there'] });
    expect(await objects(test)).toEqual({ 1: { a: 9, c: 3 } });
    await test.push({ op: 'update', id: '1', removed: ['a', 'c'] });
    expect(await objects(test)).toEqual({});
  });

  it('[UPLOAD-15] an update that both sets and removes an attribute, or names an illegal one, is rejected', async () => {
    const test = await scene();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1, b: 2 } } });
    const outcomes = await test.push(
      { op: 'update', id: '1', attributes: { a: 2 }, removed: ['a'] },
      { op: 'update', id: '1', removed: ['__proto__'] },
    );
    expect(outcomes.map(({ status, error }) => [status, error?.code])).toEqual([
      ['rejected', 'invalid_value'],
      ['rejected', 'invalid_name'],
    ]);
    expect(await objects(test)).toEqual({ 1: { a: 1, b: 2 } });
  });

  it('[UPLOAD-16] a conflict names the attributes that somebody else has changed, and applies none of the update', async () => {
    const test = await detect();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1, b: 1, c: 1 } } });
    const seen = await tokenOf(test, test.device);
    await test.tidemark.objects.push({ ...orders, objects: { 1: { b: 2, c: 2 } } });
    const [outcome] = await test.push({ id: '1', attributes: { a: 3, b: 3 }, removed: ['c'], seen });
    expect(outcome).toMatchObject({ status: 'conflict', conflicting: ['b', 'c'], current: { a: 1, b: 2, c: 2 } });
    expect(await objects(test)).toEqual({ 1: { a: 1, b: 2, c: 2 } });
  });

  it('[UPLOAD-16] a device that removes an attribute and sets it again is in no conflict with itself', async () => {
    const test = await detect();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1, b: 1 } } });
    const seen = await tokenOf(test, test.device);
    await test.push({ id: '1', removed: ['b'], seen });
    expect(await test.push({ id: '1', attributes: { b: 2 }, seen })).toMatchObject([{ status: 'applied' }]);
    expect(await objects(test)).toEqual({ 1: { a: 1, b: 2 } });
  });

  it('[UPLOAD-10] an update of an object that was deleted and created again since is a conflict', async () => {
    const test = await detect();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1 } } });
    const seen = await tokenOf(test, test.device);
    await test.tidemark.objects.fastInsert({ ...orders, objects: { 1: { a: 1, z: 1 } } });
    expect(await test.push({ attributes: { a: 3 }, seen })).toMatchObject([{ status: 'conflict' }]);
    expect(await test.push({ attributes: { fresh: 3 }, seen })).toMatchObject([{ status: 'conflict' }]);
  });

  it('[UPLOAD-11] a device’s own earlier changes are no conflicts', async () => {
    const test = await detect();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1, b: 1 } } });
    const seen = await tokenOf(test, test.device);
    const chain = await test.push(
      { attributes: { a: 2 }, seen },
      { attributes: { a: 3, b: 3 }, seen },
      { op: 'create', id: 'n', attributes: { x: 1 }, seen },
      { op: 'update', id: 'n', attributes: { x: 2 }, seen },
      { op: 'delete', id: 'n', seen },
    );
    expect(chain.map(({ status }) => status)).toEqual(new Array(5).fill('applied'));
    expect(await test.push({ attributes: { a: 4 }, seen })).toMatchObject([{ status: 'applied' }]);
    // A later change of another writer is a conflict.
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 5 } } });
    expect(await test.push({ attributes: { a: 6 }, seen })).toMatchObject([{ status: 'conflict' }]);
    const other = await newDevice(test, 'ada');
    expect(await pushAs(test, other, [{ attributes: { b: 9 }, seen }])).toMatchObject([{ status: 'conflict' }]);
  });

  it('[UPLOAD-11] a device can add attributes to an object it created before it has pulled the object', async () => {
    const test = await detect();
    const seen = await tokenOf(test, test.device);
    const chain = await test.push(
      { op: 'create', id: 'n', attributes: { x: 1 }, seen },
      { op: 'update', id: 'n', attributes: { x: 2 }, seen },
      { op: 'update', id: 'n', attributes: { y: 1 }, seen },
    );
    expect(chain.map(({ status }) => status)).toEqual(new Array(3).fill('applied'));
    // The device knew nothing of an object that another writer created meanwhile.
    await test.tidemark.objects.push({ ...orders, objects: { theirs: { x: 1 } } });
    const foreign = { op: 'update', id: 'theirs', attributes: { y: 1 }, seen } as const;
    expect(await test.push(foreign)).toMatchObject([{ status: 'conflict' }]);
  });

  it('[UPLOAD-11] of two changes of a device that are applied at once, both are remembered as its own', async () => {
    const test = await detect();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1, b: 1 } } });
    const seen = await tokenOf(test, test.device);
    // The other change is applied after this one has read what the device has written, and before it reads the object.
    beforeRead(test, () => test.push({ attributes: { a: 2 }, seen }));
    expect(await test.push({ attributes: { b: 2 }, seen })).toMatchObject([{ status: 'applied' }]);
    const next = await test.push({ attributes: { a: 3, b: 3 }, seen });
    expect(next).toMatchObject([{ status: 'applied' }]);
    expect(await objects(test)).toEqual({ 1: { a: 3, b: 3 } });
  });

  it('[UPLOAD-11] own changes are remembered for a bounded number of attributes and a bounded time', async () => {
    const test = await detect();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1 } } });
    const seen = await tokenOf(test, test.device);
    await test.push({ attributes: { a: 2 }, seen });
    const many = Array.from({ length: FOOTPRINT_ATTRIBUTES_MAX }, (_, index) => [`n${index}`, index]);
    await test.push({ attributes: Object.fromEntries(many), seen });
    expect(await test.push({ attributes: { a: 3 }, seen })).toMatchObject([{ status: 'conflict' }]);
    expect(await test.push({ attributes: { n7: 'x' }, seen })).toMatchObject([{ status: 'applied' }]);
    test.clock.advance(WEEK_MS);
    await test.push({ op: 'delete', id: 'else', seen });
    expect(await test.push({ attributes: { n7: 'y' }, seen })).toMatchObject([{ status: 'conflict' }]);
  });

  it('[UPLOAD-12] an unreadable `seen` counts as having seen nothing, and a missing one is rejected', async () => {
    const test = await detect();
    await test.tidemark.objects.push({ ...orders, objects: { 1: { a: 1 } } });
    const seen = await tokenOf(test, test.device);
    expect(await test.push({ attributes: { a: 2 } })).toMatchObject([
      { status: 'rejected', error: { code: 'invalid_request' }, current: { a: 1 } },
    ]);
    const bobs = await newDevice(test, 'bob');
    await test.tidemark.objects.push({ source: 'Order', user_id: 'bob', objects: { 1: { a: 1 } } });
    for (const strange of ['nonsense', `${seen}x`, await tokenOf(test, bobs)]) {
      expect(await test.push({ attributes: { a: 2 }, seen: strange })).toMatchObject([{ status: 'conflict' }]);
    }
    await test.tidemark.objects.push({ ...orders, objects: { 2: { a: 1 } } });
    await test.tidemark.objects.pushDeletes({ ...orders, objects: ['2'] });
    await test.store.trim(userPartition('Order', 'ada'), 3);
    expect(await test.push({ attributes: { a: 2 }, seen })).toMatchObject([{ status: 'conflict' }]);
    expect(await test.push({ attributes: { a: 2 }, seen: await tokenOf(test, test.device) })).toMatchObject([
      { status: 'applied' },
    ]);
  });
});
