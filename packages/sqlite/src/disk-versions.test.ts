import type { Device, LocalStore, QueryOptions, Versions } from '@tidemark/client';
import type { SourceSchema, Step } from '@tidemark/protocol';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import sqlite from 'node-sqlite3-wasm';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { wasmSqlite } from './drivers/wasm-sqlite.ts';
import { openSqliteStore } from './sqlite-store.ts';

const FIRST: SourceSchema = {
  properties: {
    title: { type: 'string' },
    status: { enum: ['open', 'done'] },
    parent: { type: 'string', reference: 'Task' },
  },
};
const SECOND: SourceSchema = {
  properties: {
    name: { type: 'string' },
    status: { enum: ['todo', 'closed'] },
    under: { type: 'string', reference: 'Task' },
  },
};
const STEPS: readonly Step[] = [
  { step: 'rename', attribute: 'title', to: 'name' },
  { step: 'rename', attribute: 'parent', to: 'under' },
  {
    step: 'map',
    attribute: 'status',
    values: [
      ['open', 'todo'],
      ['done', 'closed'],
    ],
  },
];
const BUILT_FIRST: Versions = { Task: { version: 1, steps: [] } };

interface Task {
  title?: string;
  status?: string;
  parent?: string;
}

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
  await fixture.tidemark.sources.declare({ name: 'Task', partition_type: 'user' });
  await fixture.tidemark.sources.schemas.set('Task', { schema: FIRST });
});

const push = (objects: Record<string, Record<string, unknown>>) =>
  fixture.tidemark.objects.push({ source: 'Task', user_id: 'ada', objects });

async function setSecond(): Promise<void> {
  await fixture.tidemark.sources.schemas.set('Task', { schema: SECOND, steps: STEPS });
  await fixture.tidemark.conversions.run();
}

/** A store that outlives its device. */
async function newStore(): Promise<LocalStore> {
  const store = await openSqliteStore(wasmSqlite(new sqlite.Database(':memory:')));
  onTestFinished(() => store.close());
  const { disk } = store;
  return {
    load: () => store.load(),
    commit: (writes, options) => store.commit(writes, options),
    close: async () => undefined,
    ...(disk === undefined ? {} : { disk }),
  };
}

async function open(store: LocalStore, versions: Versions = BUILT_FIRST): Promise<Device> {
  const device = await fixture.open({ store, versions });
  device.source('Task', { keep: 'disk', indexes: ['title', 'status'] });
  await fixture.finish(device.sync());
  return device;
}

async function rowsOf(device: Device, options: QueryOptions<Task>): Promise<readonly unknown[]> {
  const rows = await fixture.finish(device.source<Task>('Task').query(options).fetch());
  return rows.map(({ id, attributes }) => [id, attributes]);
}

it('[VERSION-15] queries of objects on the disk find and order them as the version of the app says', async () => {
  await setSecond();
  await push({
    root: { name: 'Root', status: 'closed' },
    a: { name: 'B', status: 'todo', under: 'root' },
    b: { name: 'A', status: 'todo', under: 'root' },
  });
  const device = await open(await newStore());
  expect(await rowsOf(device, { where: { status: 'open' }, orderBy: 'title' })).toEqual([
    ['b', { title: 'A', status: 'open', parent: 'root' }],
    ['a', { title: 'B', status: 'open', parent: 'root' }],
  ]);
  expect(await rowsOf(device, { orderBy: { title: 'desc' }, limit: 1 })).toEqual([
    ['root', { title: 'Root', status: 'done' }],
  ]);
  const tasks = device.source<Task>('Task');
  expect((await fixture.finish(tasks.fetch('a')))?.attributes).toEqual({ title: 'B', status: 'open', parent: 'root' });
  const withParents = tasks.query({
    where: { title: 'A' },
    include: { parent: 'parent', children: { source: 'Task', by: 'parent' } },
  });
  const [row] = await fixture.finish(withParents.fetch());
  expect((row?.included.parent as { readonly attributes: unknown } | undefined)?.attributes).toEqual({
    title: 'Root',
    status: 'done',
  });
  const roots = tasks.query({ where: { title: 'Root' }, include: { children: { source: 'Task', by: 'parent' } } });
  const [root] = await fixture.finish(roots.fetch());
  expect((root?.included.children as readonly { readonly id: string }[] | undefined)?.map(({ id }) => id)).toEqual([
    'a',
    'b',
  ]);
});

it('[VERSION-15] a window on the disk follows changes of the server and of the app in the version of the app', async () => {
  await setSecond();
  await push(
    Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`o${at}`, { name: `n${at}`, status: 'todo' }])),
  );
  const device = await open(await newStore());
  const tasks = device.source<Task>('Task');
  const query = tasks.query({ where: { status: 'open' }, orderBy: 'title', limit: 2 });
  onTestFinished(query.subscribe(() => undefined));
  await fixture.finish(query.fetch());
  const shown = () => query.getSnapshot().map(({ attributes }) => attributes.title);
  expect(shown()).toEqual(['n0', 'n1']);
  await push({ o1: { status: 'closed' }, new: { name: 'a', status: 'todo' } });
  await fixture.finish(device.sync());
  expect(shown()).toEqual(['a', 'n0']);
  await fixture.finish(tasks.update('o0', { status: 'done' }));
  expect(shown()).toEqual(['a', 'n10']);
  await fixture.finish(device.sync());
  expect(shown()).toEqual(['a', 'n10']);
  expect(device.status.getSnapshot().heals).toBe(0);
});

it('[VERSION-15] a source on the disk is shown anew when the device hears of another version', async () => {
  await push({ a: { title: 'Pump', status: 'open' }, b: { title: 'Valve', status: 'done' } });
  const device = await open(await newStore());
  const query = device.source<Task>('Task').query({ where: { status: 'open' } });
  onTestFinished(query.subscribe(() => undefined));
  await fixture.finish(query.fetch());
  await setSecond();
  fixture.platform.setOnline(false);
  await device.source<Task>('Task').update('b', { title: 'New' });
  await fixture.platform.advance(3_600_000);
  fixture.platform.setOnline(true);
  await fixture.finish(device.sync());
  await fixture.finish(query.fetch());
  expect(query.getSnapshot().map(({ attributes }) => attributes)).toEqual([{ title: 'Pump', status: 'open' }]);
  expect(await rowsOf(device, {})).toEqual([
    ['a', { title: 'Pump', status: 'open' }],
    ['b', { title: 'New', status: 'done' }],
  ]);
  const stored = Object.fromEntries(await fixture.tidemark.objects.read({ source: 'Task', user_id: 'ada' }));
  expect(stored).toEqual({ a: { name: 'Pump', status: 'todo' }, b: { name: 'New', status: 'closed' } });
});
