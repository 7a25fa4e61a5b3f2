import type { Outcome, SourceSchema, Step, Upload } from '@tidemark/protocol';
import { newTidemark, refusalOf, type TestTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { DeviceId } from '../devices/device-id.ts';
import type { Adapter } from '../ports/adapter.ts';

const FIRST: SourceSchema = {
  properties: {
    title: { type: 'string' },
    status: { enum: ['open', 'done'] },
    street: { type: 'string' },
    town: { type: 'string' },
    customer: { type: 'string', reference: 'Product' },
  },
};
const SECOND: SourceSchema = {
  properties: {
    name: { type: 'string' },
    status: { enum: ['todo', 'closed'] },
    address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
    buyer: { type: 'string', reference: 'Product' },
  },
};
const STEPS: readonly Step[] = [
  { step: 'rename', attribute: 'title', to: 'name' },
  { step: 'rename', attribute: 'customer', to: 'buyer' },
  {
    step: 'map',
    attribute: 'status',
    values: [
      ['open', 'todo'],
      ['done', 'closed'],
    ],
  },
  { step: 'nest', into: 'address', members: { street: 'street', town: 'city' } },
];

const order = { source: 'Order', user_id: 'ada' };

interface Scene extends TestTidemark {
  readonly device: DeviceId;
  readonly upload: (...changes: Partial<Upload>[]) => Promise<readonly Outcome[]>;
  readonly objects: () => Promise<Readonly<Record<string, unknown>>>;
}

let opCount = 0;

async function scene(
  settings: Record<string, unknown> = {},
  adapter?: Adapter,
  schema: SourceSchema = FIRST,
): Promise<Scene> {
  const adapters = { find: (name: string) => (name === 'erp' ? (adapter ?? null) : null) };
  const test = await newTidemark(adapter === undefined ? {} : { adapters });
  const { tidemark } = test;
  await tidemark.sources.update('Order', settings);
  await tidemark.sources.schemas.set('Order', { schema });
  const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
  return {
    ...test,
    device,
    upload: (...changes) => {
      const whole = changes.map((change): Upload => {
        opCount += 1;
        return { op_id: `op${opCount}`, source: 'Order', op: 'update', id: '1', version: 1, ...change };
      });
      return tidemark.devices.push(device, { changes: whole });
    },
    objects: async () => Object.fromEntries(await tidemark.objects.read(order)),
  };
}

async function setSecond({ tidemark }: TestTidemark): Promise<void> {
  await tidemark.sources.schemas.set('Order', { schema: SECOND, steps: STEPS });
}

async function seenBy({ tidemark, device }: Scene): Promise<string> {
  const { pages } = await tidemark.devices.pull(device, { sources: new Map([['Order', null]]) });
  const page = pages[0]?.page;
  if (page === undefined || 'error' in page) throw new Error('there is no page');
  return page.token;
}

describe('uploads of older versions of a schema', () => {
  it('[VERSION-8] a create and an update of an older version are stored in the present one', async () => {
    const test = await scene();
    await setSecond(test);
    const outcomes = await test.upload(
      { op: 'create', attributes: { title: 'Pump', status: 'open', street: 'Elm', town: 'Bern' } },
      { attributes: { status: 'done', town: 'Basel' } },
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['applied', 'applied']);
    expect(await test.objects()).toEqual({
      1: { name: 'Pump', status: 'closed', address: { street: 'Elm', city: 'Basel' } },
    });
  });

  it('[VERSION-8] a member of a nested attribute is set in the object as it is when the upload arrives', async () => {
    const test = await scene();
    await setSecond(test);
    await test.tidemark.objects.push({
      ...order,
      objects: { 1: { address: { street: 'New', city: 'Bern', zip: '3000' } } },
    });
    await test.upload({ attributes: { town: 'Basel' } });
    expect(await test.objects()).toEqual({ 1: { address: { street: 'New', city: 'Basel', zip: '3000' } } });
  });

  it('[VERSION-8] an update of an object that is not converted yet leaves nothing of the version before', async () => {
    const test = await scene();
    await test.tidemark.objects.push({
      ...order,
      objects: { 1: { title: 'a', status: 'open', street: 'Elm', town: 'Bern' } },
    });
    await setSecond(test);
    await test.upload({ attributes: { title: 'b', town: 'Basel' } });
    await test.tidemark.conversions.run();
    expect(await test.objects()).toEqual({
      1: { name: 'b', status: 'todo', address: { street: 'Elm', city: 'Basel' } },
    });
  });

  it('[VERSION-8] an upload that names no version is of the present one, and deletions are of every version', async () => {
    const test = await scene();
    await setSecond(test);
    await test.upload({ op: 'create', version: undefined, attributes: { name: 'a', status: 'todo' } } as never);
    expect(await test.objects()).toEqual({ 1: { name: 'a', status: 'todo' } });
    await test.upload({ op: 'delete' });
    expect(await test.objects()).toEqual({});
  });

  it('[VERSION-8] an upload that names the present version is stored as it is', async () => {
    const test = await scene();
    await setSecond(test);
    const attributes = { name: 'a', status: 'todo' };
    expect(await test.upload({ op: 'create', version: 2, attributes })).toMatchObject([{ status: 'applied' }]);
    expect(await test.objects()).toEqual({ 1: attributes });
  });

  it('[VERSION-8] versions of which all changes are additive lie between without an effect', async () => {
    const test = await scene();
    const wider = { properties: { ...FIRST.properties, note: { type: 'string' } } } as const;
    await test.tidemark.sources.schemas.set('Order', { schema: wider });
    await test.upload({ op: 'create', attributes: { title: 'Pump' } });
    expect(await test.objects()).toEqual({ 1: { title: 'Pump' } });
  });

  it('[VERSION-6] a change that cannot be translated is rejected, and says which attribute and why', async () => {
    const test = await scene();
    await setSecond(test);
    const [outcome] = await test.upload({ op: 'create', attributes: { status: 'late' } });
    expect(outcome).toMatchObject({ status: 'rejected', error: { code: 'not_translatable' } });
    expect(outcome?.error?.detail).toBe('"status" "late" has no counterpart in the newer version');
    expect(await test.objects()).toEqual({});
  });

  it('[VERSION-10] an upload of a version that the source does not have is rejected', async () => {
    const test = await scene();
    const [newer] = await test.upload({ op: 'create', version: 2, attributes: { name: 'a' } });
    expect(newer).toMatchObject({ status: 'rejected', error: { code: 'schema_version_unknown' } });
    const [without] = await test.upload({ source: 'Product', op: 'create', version: 1, attributes: { name: 'a' } });
    expect(without?.error?.detail).toBe('the change is of version 1 of "Product", which has no schema');
  });

  it('[VERSION-9] what was translated is not written when another version has been set meanwhile', async () => {
    const test = await scene();
    const { readObjects } = test.store;
    test.store.readObjects = async (...call) => {
      test.store.readObjects = readObjects;
      await setSecond(test);
      return readObjects.apply(test.store, call);
    };
    const upload = { op_id: 'again', op: 'create', attributes: { title: 'Pump' } } as const;
    expect(await refusalOf(test.upload(upload))).toBe('write_conflict');
    expect(await test.objects()).toEqual({});
    await test.upload(upload);
    expect(await test.objects()).toEqual({ 1: { name: 'Pump' } });
  });

  it('[VERSION-11] attributes in conflict have the names of the version that the upload is of', async () => {
    const test = await scene({ conflicts: 'detect' });
    await setSecond(test);
    await test.tidemark.objects.push({
      ...order,
      objects: { 1: { name: 'a', status: 'todo', address: { city: 'Bern' } } },
    });
    const seen = await seenBy(test);
    await test.tidemark.objects.push({ ...order, objects: { 1: { name: 'b', address: { city: 'Basel' } } } });
    const [outcome] = await test.upload({ seen, attributes: { title: 'c', status: 'done', street: 'Elm' } });
    expect(outcome).toMatchObject({ status: 'conflict', conflicting: ['title', 'street'] });
  });

  it('[VERSION-41] a conflict is reported where a part of the change cannot be translated by itself', async () => {
    const old: SourceSchema = { properties: { first: { type: 'string' }, last: { type: 'string' } } };
    const join: Step = { step: 'join', attributes: ['first', 'last'], into: 'name', separator: ' ' };
    const test = await scene({ conflicts: 'detect' }, undefined, old);
    const schema = { properties: { name: { type: 'string' }, note: { type: 'string' } } };
    await test.tidemark.sources.schemas.set('Order', { schema, steps: [join] });
    await test.tidemark.conversions.run();
    await test.tidemark.objects.push({ ...order, objects: { 1: { name: 'Ann Lee', note: 'x' } } });
    const seen = await seenBy(test);
    await test.tidemark.objects.fastDelete({ ...order, data: { 1: { name: 'Ann Lee' } } });
    const [outcome] = await test.upload({ seen, attributes: { first: 'A', last: 'B' } });
    expect(outcome).toMatchObject({ status: 'conflict', conflicting: ['first', 'last'] });
  });

  it('[VERSION-42] an edit made before objects were converted is no conflict with the conversion', async () => {
    const test = await scene({ conflicts: 'detect' });
    const stored = { title: 'a', status: 'open', street: 'Elm', town: 'Bern', customer: 'p1' };
    await test.tidemark.objects.push({ ...order, objects: { 1: stored, 2: stored, 3: stored } });
    const seen = await seenBy(test);
    await test.tidemark.objects.push({ ...order, objects: { 2: { title: 'b', town: 'Basel' } } });
    await setSecond(test);
    await test.tidemark.conversions.run();
    await test.tidemark.objects.push({ ...order, objects: { 3: { name: 'z' } } });
    const [free, customer, title, town, later] = await test.upload(
      { seen, attributes: { title: 'c', status: 'done', street: 'Oak' } },
      { seen, id: '2', attributes: { customer: 'p2' } },
      { seen, id: '2', attributes: { title: 'c' } },
      { seen, id: '2', attributes: { town: 'Chur' } },
      { seen, id: '3', attributes: { title: 'c' } },
    );
    expect(free).toMatchObject({ status: 'applied' });
    expect(customer).toMatchObject({ status: 'applied' });
    expect(title).toMatchObject({ status: 'conflict', conflicting: ['title'] });
    expect(town).toMatchObject({ status: 'conflict', conflicting: ['town'] });
    expect(later).toMatchObject({ status: 'conflict', conflicting: ['title'] });
  });

  it('[VERSION-42] a deletion made before objects were converted is no conflict with the conversion', async () => {
    const test = await scene({ conflicts: 'detect' });
    const stored = { title: 'a', status: 'open', street: 'Elm' };
    await test.tidemark.objects.push({ ...order, objects: { 1: stored, 2: stored, 3: stored } });
    const seen = await seenBy(test);
    await test.tidemark.objects.push({ ...order, objects: { 2: { title: 'b' } } });
    await setSecond(test);
    await test.tidemark.conversions.run();
    await test.tidemark.objects.push({ ...order, objects: { 3: { name: 'z' } } });
    const outcomes = await test.upload(
      { seen, op: 'delete', id: '1' },
      { seen, op: 'delete', id: '2' },
      { seen, op: 'delete', id: '3' },
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['applied', 'conflict', 'conflict']);
  });

  it('[VERSION-42] an edit of an object that is not converted yet is a change of what it edited, and of nothing else', async () => {
    const test = await scene({ conflicts: 'detect' });
    await test.tidemark.objects.push({
      ...order,
      objects: { 1: { title: 'a', status: 'open', street: 'Elm', town: 'Bern' } },
    });
    const seen = await seenBy(test);
    await setSecond(test);
    const other = { user: 'ada', client: (await test.tidemark.clients.register('ada', {})).client_id };
    const edit = { source: 'Order', op: 'update', id: '1', version: 1, seen } as const;
    const push = (op_id: string, attributes: Record<string, string>) =>
      test.tidemark.devices.push(other, { changes: [{ ...edit, op_id, attributes }] });
    expect(await test.upload({ seen, attributes: { status: 'done' } })).toMatchObject([{ status: 'applied' }]);
    expect(await push('free', { title: 'c' })).toMatchObject([{ status: 'applied' }]);
    expect(await push('taken', { status: 'open' })).toMatchObject([{ status: 'conflict', conflicting: ['status'] }]);
    expect(await test.objects()).toEqual({
      1: { name: 'c', status: 'closed', address: { street: 'Elm', city: 'Bern' } },
    });
  });

  it('[VERSION-42] what others have written to an object that is not converted yet is a conflict', async () => {
    const test = await scene({ conflicts: 'detect' });
    const stored = { title: 'a', status: 'open', street: 'Elm', town: 'Bern' };
    await test.tidemark.objects.push({ ...order, objects: { 1: stored, 2: stored } });
    const seen = await seenBy(test);
    await test.tidemark.objects.push({ ...order, objects: { 1: { title: 'b', town: 'Basel', status: 'done' } } });
    await setSecond(test);
    const [title, town, street, status, free] = await test.upload(
      { seen, attributes: { title: 'c' } },
      { seen, attributes: { town: 'Chur' } },
      { seen, version: undefined, attributes: { address: { city: 'Chur' } } } as never,
      { seen, attributes: { status: 'done' } },
      { seen, id: '2', attributes: { title: 'c', status: 'done' } },
    );
    expect(title).toMatchObject({ status: 'conflict', conflicting: ['title'] });
    expect(town).toMatchObject({ status: 'conflict', conflicting: ['town'] });
    expect(street).toMatchObject({ status: 'conflict', conflicting: ['address'] });
    expect(status).toMatchObject({ status: 'applied' });
    expect(free).toMatchObject({ status: 'applied' });
  });

  it.each([
    ['of an older version', 1, ['title', 'status']],
    ['of the present version', undefined, ['name', 'status']],
  ])(
    '[VERSION-32] what an update %s removes from an object that is not converted yet does not come back',
    async (_which, version, removed) => {
      const test = await scene();
      await test.tidemark.objects.push({ ...order, objects: { 1: { title: 'a', status: 'open', street: 'Elm' } } });
      await setSecond(test);
      const [outcome] = await test.upload({ version, attributes: {}, removed } as Partial<Upload>);
      expect(outcome).toMatchObject({ status: 'applied' });
      await test.tidemark.conversions.run();
      expect(await test.objects()).toEqual({ 1: { address: { street: 'Elm' } } });
    },
  );

  it('[VERSION-12] a backend is asked in the present version', async () => {
    const asked: unknown[] = [];
    const adapter = {
      query: () => Promise.reject(new Error('it is never queried')),
      create: async ({ attributes }: { readonly attributes: unknown }) => {
        asked.push(attributes);
        return 'p-1';
      },
      update: async ({
        id,
        attributes,
        removed,
      }: {
        readonly id: string;
        readonly attributes: unknown;
        readonly removed: unknown;
      }) => {
        asked.push({ id, attributes, removed });
      },
      delete: () => Promise.reject(new Error('it is never asked to delete')),
    } as unknown as Adapter;
    const test = await scene({ adapter: 'erp', poll_interval: -1 }, adapter);
    await setSecond(test);
    await test.upload({ op: 'create', id: 'tmp', attributes: { title: 'Pump', street: 'Elm' } });
    await test.upload({ id: 'p-1', attributes: { town: 'Bern' }, removed: ['title'] });
    expect(asked).toEqual([
      { name: 'Pump', address: { street: 'Elm' } },
      { id: 'p-1', attributes: { address: { street: 'Elm', city: 'Bern' } }, removed: ['name'] },
    ]);
    expect(await test.objects()).toEqual({ 'p-1': { address: { street: 'Elm', city: 'Bern' } } });
  });

  it('[VERSION-12] a backend is not asked about a create that cannot be translated', async () => {
    const asked: unknown[] = [];
    const adapter = { create: async (call: unknown) => `p-${asked.push(call)}` } as unknown as Adapter;
    const test = await scene({ adapter: 'erp', poll_interval: -1 }, adapter);
    await setSecond(test);
    const [outcome] = await test.upload({ op: 'create', attributes: { status: 'late' } });
    expect([outcome?.error?.code, asked]).toEqual(['not_translatable', []]);
  });

  it('[VERSION-13] a reference of an older version follows the id that a backend has given', async () => {
    const adapter = { create: async () => 'p-9' } as unknown as Adapter;
    const test = await scene({}, adapter);
    await test.tidemark.sources.update('Product', { adapter: 'erp', poll_interval: -1 });
    await setSecond(test);
    await test.upload(
      { source: 'Product', op: 'create', id: 'tmp', version: undefined, attributes: { name: 'x' } } as never,
      { op: 'create', attributes: { title: 'Pump', customer: 'tmp' } },
    );
    expect(await test.objects()).toEqual({ 1: { name: 'Pump', buyer: 'p-9' } });
  });
});
