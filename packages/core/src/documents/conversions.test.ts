import type { SourceSchema, Step } from '@tidemark/protocol';
import { newTidemark, refusalOf, type TestTidemark } from '@tidemark/testing';
import { expect, it } from 'vitest';

const FIRST: SourceSchema = { properties: { title: { type: 'string' }, count: { type: 'number' } } };
const SECOND: SourceSchema = { properties: { name: { type: 'string' }, count: { type: 'string' } } };
const STEPS: readonly Step[] = [
  { step: 'rename', attribute: 'title', to: 'name' },
  { step: 'convert', attribute: 'count', to: 'text' },
];
const order = (user: string) => ({ source: 'Order', user_id: user });

async function scene(objects: number): Promise<TestTidemark> {
  const test = await newTidemark();
  await test.tidemark.sources.schemas.set('Order', { schema: FIRST });
  const all = Array.from({ length: objects }, (_, at) => [`o${at}`, { title: `t${at}`, count: at }] as const);
  for (const user of ['ada', 'bob'])
    await test.tidemark.objects.push({ ...order(user), objects: Object.fromEntries(all) });
  return test;
}

const setSecond = ({ tidemark }: TestTidemark) =>
  tidemark.sources.schemas.set('Order', { schema: SECOND, steps: STEPS });
const isConverting = async ({ tidemark }: TestTidemark) => (await tidemark.sources.view('Order')).schema?.converting;
const read = async ({ tidemark }: TestTidemark, user: string) =>
  Object.fromEntries(await tidemark.objects.read(order(user)));

it('[VERSION-14] the objects of all owners are converted to a new version, and then the source says so', async () => {
  const test = await scene(1_200);
  await setSecond(test);
  expect(await isConverting(test)).toBe(true);
  await test.tidemark.conversions.run();
  expect(await isConverting(test)).toBe(false);
  for (const user of ['ada', 'bob']) {
    const objects = Object.entries(await read(test, user));
    expect(objects).toHaveLength(1_200);
    for (const [id, attributes] of objects) expect(attributes).toEqual({ name: `t${id.slice(1)}`, count: id.slice(1) });
  }
});

it('[VERSION-14] objects of other sources, and those of the version already, are not written', async () => {
  const test = await scene(1);
  await test.tidemark.objects.push({ source: 'Product', objects: { p: { title: 'a', count: 1 } } });
  await setSecond(test);
  await test.tidemark.objects.push({ ...order('ada'), objects: { o0: { name: 'new', count: '7' } } });
  await test.tidemark.objects.pushDeletes({ ...order('bob'), objects: ['o0'] });
  const before = await test.tidemark.objects.partition(order('bob'));
  await test.tidemark.conversions.run();
  expect(await read(test, 'ada')).toEqual({ o0: { name: 'new', count: '7' } });
  expect(Object.fromEntries(await test.tidemark.objects.read({ source: 'Product' }))).toEqual({
    p: { title: 'a', count: 1 },
  });
  expect((await test.tidemark.objects.partition(order('bob'))).head).toBe(before.head);
});

it('[VERSION-14] a conversion that was stopped begins again, and what was written meanwhile is converted, too', async () => {
  const test = await scene(3);
  await setSecond(test);
  let calls = 0;
  await test.tidemark.conversions.run(async () => ++calls < 2);
  expect(await isConverting(test)).toBe(true);
  await test.tidemark.objects.push({ ...order('bob'), objects: { late: { title: 'late', count: 9 } } });
  await test.tidemark.conversions.run();
  expect(await read(test, 'bob')).toMatchObject({ late: { name: 'late', count: '9' }, o0: { name: 't0', count: '0' } });
  expect(await isConverting(test)).toBe(false);
});

it('[VERSION-14] an object that somebody changes while it is converted keeps that change', async () => {
  const test = await scene(1);
  await setSecond(test);
  const { commit } = test.store;
  test.store.commit = async (...call) => {
    test.store.commit = commit;
    await test.tidemark.objects.push({ ...order('ada'), objects: { o0: { name: 'theirs' } } });
    return commit.apply(test.store, call);
  };
  await test.tidemark.conversions.run();
  expect(await read(test, 'ada')).toEqual({ o0: { name: 'theirs', count: '0' } });
});

it('[VERSION-14] no further version is set while objects are converted', async () => {
  const test = await scene(1);
  await setSecond(test);
  const third = {
    schema: { properties: { label: { type: 'string' } } },
    steps: [{ step: 'rename', attribute: 'name', to: 'label' }],
    force: true,
  };
  expect(await refusalOf(test.tidemark.sources.schemas.set('Order', third))).toBe('schema_converting');
  await test.tidemark.conversions.run();
  await test.tidemark.sources.schemas.set('Order', third);
  await test.tidemark.conversions.run();
  expect(await read(test, 'ada')).toEqual({ o0: { label: 't0', count: '0' } });
});

it('[VERSION-14] a source that is deleted or changed while it is converted ends the round, and not the server', async () => {
  const test = await scene(1);
  await setSecond(test);
  const { commit } = test.store;
  test.store.commit = async (...call) => {
    test.store.commit = commit;
    await test.tidemark.sources.schemas.set('Order', { mode: 'off' });
    return commit.apply(test.store, call);
  };
  await test.tidemark.conversions.run();
  expect(await isConverting(test)).toBe(true);
  await test.tidemark.conversions.run();
  expect(await isConverting(test)).toBe(false);
});

it('[VERSION-30] an object that is moved to a partition whose objects are converted already is converted as well', async () => {
  const test = await newTidemark();
  const { conversions, groups, objects, sources } = test.tidemark;
  await sources.declare({ name: 'Visit', partition_type: 'group' });
  await sources.schemas.set('Visit', { schema: FIRST });
  await groups.add('ada', ['a', 'b']);
  for (const group of ['a', 'b'])
    await objects.push({ source: 'Visit', group, objects: { [`of-${group}`]: { title: group } } });
  await sources.schemas.set('Visit', { schema: SECOND, steps: STEPS });
  const partitions = ['a', 'b'];
  let calls = 0;
  await conversions.run(async () => {
    calls += 1;
    // The partition that comes first is done, and the object leaves the other one before its turn.
    const [first] = await Promise.all(partitions.map((group) => objects.read({ source: 'Visit', group })));
    const isFirstDone = [...(first?.values() ?? [])].some((attributes) => 'name' in attributes);
    const [from, to] = isFirstDone ? ['b', 'a'] : ['a', 'b'];
    if (calls === 2) await objects.move({ source: 'Visit', from, to, objects: [`of-${from}`] });
    return true;
  });
  expect((await sources.view('Visit')).schema?.converting).toBe(false);
  const found = await Promise.all(partitions.map((group) => objects.read({ source: 'Visit', group })));
  const all = Object.fromEntries(found.flatMap((some) => [...some]));
  expect(all).toEqual({ 'of-a': { name: 'a' }, 'of-b': { name: 'b' } });
});

it('[VERSION-34] an object that would be larger than allowed in the new version stays as it is, and does not hold up the others', async () => {
  const test = await newTidemark({ limits: { attributesPerObjectMax: 3 } });
  const { conversions, devices, clients, objects, sources } = test.tidemark;
  await sources.schemas.set('Order', { schema: FIRST });
  const full = { title: 'a', x: 1, y: 2 };
  await objects.push({ ...order('ada'), objects: { full, other: { title: 'b' } } });
  const device = { user: 'ada', client: (await clients.register('ada', {})).client_id };
  await sources.schemas.set('Order', {
    schema: { properties: { ...FIRST.properties, rank: { type: 'number' } } },
    steps: [{ step: 'add', attribute: 'rank', value: 0 }],
  });
  const change = { op_id: 'op', source: 'Order', op: 'update', id: 'full', attributes: { title: 'c' } } as const;
  expect(await devices.push(device, { changes: [change] })).toMatchObject([{ status: 'applied' }]);
  await conversions.run();
  expect(await isConverting(test)).toBe(false);
  expect(await read(test, 'ada')).toEqual({ full: { ...full, title: 'c' }, other: { title: 'b', rank: 0 } });
});

it('[VERSION-35] objects of a deleted user are not written to a new user of the same login', async () => {
  const test = await scene(1);
  await setSecond(test);
  const { readObjects } = test.store;
  test.store.readObjects = async (partition, ...call) => {
    test.store.readObjects = readObjects;
    const found = await readObjects.call(test.store, partition, ...call);
    const login = partition.owner.kind === 'user' ? partition.owner.login : '';
    await test.tidemark.users.delete(login);
    await test.tidemark.users.create({ attributes: { login, password: 'long enough' } });
    await test.tidemark.objects.push({ ...order(login), objects: { o0: { name: 'of the new user' } } });
    return found;
  };
  await test.tidemark.conversions.run();
  const both = [await read(test, 'ada'), await read(test, 'bob')];
  expect(both).toContainEqual({ o0: { name: 'of the new user' } });
  expect(both).toContainEqual({ o0: { name: 't0', count: '0' } });
});
