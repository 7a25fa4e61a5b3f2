import {
  type Device,
  type DeviceOptions,
  type LocalStore,
  memoryStore,
  openDevice,
  type Versions,
} from '@tidemark/client';
import type { SourceSchema, Step } from '@tidemark/protocol';
import { type DeviceFixture, newDeviceFixture, tabsInMemory } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';

type PullAnswer = { readonly sources: Readonly<Record<string, object>> };

const FIRST: SourceSchema = {
  properties: {
    title: { type: 'string' },
    status: { enum: ['open', 'done'] },
    street: { type: 'string' },
    town: { type: 'string' },
    parent: { type: 'string', reference: 'Task' },
  },
};
const SECOND: SourceSchema = {
  properties: {
    name: { type: 'string' },
    status: { enum: ['todo', 'closed', 'paused'] },
    address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
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
  { step: 'nest', into: 'address', members: { street: 'street', town: 'city' } },
];
const BUILT_FIRST: Versions = { Task: { version: 1, steps: [] } };
const BUILT_SECOND: Versions = { Task: { version: 2, steps: [STEPS] } };

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
  await fixture.tidemark.sources.declare({ name: 'Task', partition_type: 'user' });
  await fixture.tidemark.sources.schemas.set('Task', { schema: FIRST });
});

const push = (objects: Record<string, Record<string, unknown>>) =>
  fixture.tidemark.objects.push({ source: 'Task', user_id: 'ada', objects });
const onServer = async () =>
  Object.fromEntries(await fixture.tidemark.objects.read({ source: 'Task', user_id: 'ada' }));
const setSecond = () => fixture.tidemark.sources.schemas.set('Task', { schema: SECOND, steps: STEPS, force: true });
const open = async (versions: Versions, options: Partial<DeviceOptions> = {}) => {
  const device = await fixture.open({ versions, ...options });
  await fixture.finish(device.sync());
  return device;
};
/** A store that outlives its device. */
const lastingStore = (): LocalStore => {
  const store = memoryStore();
  return { ...store, load: () => store.load(), commit: (writes) => store.commit(writes), close: async () => undefined };
};
/** Opens tabs that share one device; the first one leads. */
const tabsOf = ({ platform, finish }: DeviceFixture) => {
  const kept = memoryStore();
  const store: LocalStore = { sharedAs: 'one', load: kept.load, commit: kept.commit, close: async () => undefined };
  const shared = {
    tabs: tabsInMemory(),
    nowMs: () => platform.nowMs(),
    after: (ms: number, callback: () => void) => platform.after(ms, callback),
    fetch: (url: string, init: RequestInit) => platform.fetch(url, init),
  };
  const url = 'http://tidemark.test';
  return (versions: Versions) => finish(openDevice({ url, live: false, store, platform: shared, versions }));
};
const shown = (device: Device) =>
  Object.fromEntries(
    device
      .source('Task')
      .list()
      .map(({ id, attributes }) => [id, attributes]),
  );
/** Changes what the server answers. */
const changed = async (go: () => Promise<Response>, change: (answer: PullAnswer) => object) =>
  Response.json(change((await (await go()).json()) as PullAnswer));
/** The list of sources is read again after a while. */
const hearOfSources = async (device: Device) => {
  fixture.platform.setOnline(false);
  await fixture.platform.advance(3_600_000);
  fixture.platform.setOnline(true);
  await fixture.finish(device.sync());
};

describe('an app of an older version of a schema', () => {
  it('[VERSION-15] sees objects of the newer version as its own, and creates and changes them', async () => {
    await setSecond();
    await fixture.tidemark.conversions.run();
    await push({ a: { name: 'Pump', status: 'todo', address: { street: 'Elm', city: 'Bern', zip: '3000' } } });
    const device = await open(BUILT_FIRST);
    expect(shown(device)).toEqual({ a: { title: 'Pump', status: 'open', street: 'Elm', town: 'Bern' } });
    await device.source('Task').update('a', { status: 'done', town: 'Basel' });
    await device.source('Task').create({ title: 'Valve', status: 'open' }, { id: 'b' });
    const before = shown(device);
    expect(before).toEqual({
      a: { title: 'Pump', status: 'done', street: 'Elm', town: 'Basel' },
      b: { title: 'Valve', status: 'open' },
    });
    await fixture.finish(device.sync());
    expect(shown(device)).toEqual(before);
    expect(await onServer()).toEqual({
      a: { name: 'Pump', status: 'closed', address: { street: 'Elm', city: 'Basel', zip: '3000' } },
      b: { name: 'Valve', status: 'todo' },
    });
    expect(device.status.getSnapshot().heals).toBe(0);
  });

  it('[VERSION-15] and one of the newer version work side by side, and see what the other does', async () => {
    const older = await open(BUILT_FIRST);
    await older.source('Task').create({ title: 'Pump', status: 'open', street: 'Elm' }, { id: 'a' });
    await fixture.finish(older.sync());
    await setSecond();
    await fixture.tidemark.conversions.run();
    const newer = await open(BUILT_SECOND);
    expect(shown(newer)).toEqual({ a: { name: 'Pump', status: 'todo', address: { street: 'Elm' } } });
    await newer.source('Task').update('a', { name: 'Big pump', address: { street: 'Elm', city: 'Bern' } });
    await fixture.finish(newer.sync());
    await hearOfSources(older);
    expect(shown(older)).toEqual({ a: { title: 'Big pump', status: 'open', street: 'Elm', town: 'Bern' } });
    await older.source('Task').update('a', { street: 'Oak', status: 'done' });
    await fixture.finish(older.sync());
    await fixture.finish(newer.sync());
    expect(shown(newer)).toEqual({
      a: { name: 'Big pump', status: 'closed', address: { street: 'Oak', city: 'Bern' } },
    });
  });

  it('[VERSION-17] sends what it changed offline before it heard of the newer version', async () => {
    await push({ a: { title: 'Pump', status: 'open', street: 'Elm', town: 'Bern' } });
    const device = await open(BUILT_FIRST);
    fixture.platform.setOnline(false);
    for (let at = 0; at < 30; at++) {
      await device.source('Task').update('a', { title: `Pump ${at}`, town: `Town ${at}` });
      await device
        .source('Task')
        .create({ title: `New ${at}`, status: at % 2 === 0 ? 'open' : 'done' }, { id: `n${at}` });
    }
    await setSecond();
    await fixture.tidemark.conversions.run();
    await hearOfSources(device);
    await fixture.finish(device.sync());
    expect(device.problems.list()).toEqual([]);
    expect(device.uploads.list()).toEqual([]);
    const objects = await onServer();
    expect(objects.a).toEqual({ name: 'Pump 29', status: 'todo', address: { street: 'Elm', city: 'Town 29' } });
    expect(objects.n29).toEqual({ name: 'New 29', status: 'closed' });
    expect(Object.keys(objects)).toHaveLength(31);
    expect(shown(device).a).toEqual({ title: 'Pump 29', status: 'open', street: 'Elm', town: 'Town 29' });
  });

  it('[VERSION-18] a server that goes on telling a version which its list does not have is not asked for ever', async () => {
    await push({ a: { title: 'Pump', status: 'open' } });
    let lists = 0;
    fixture.intercept = ({ path }, go) => {
      if (path === '/sources') lists += 1;
      return path !== '/pull' || lists > 5
        ? undefined
        : changed(go, (answer) => ({ ...answer, versions: { Task: 9 } }));
    };
    const device = await open(BUILT_FIRST);
    expect(shown(device)).toEqual({ a: { title: 'Pump', status: 'open' } });
    expect(lists).toBeLessThan(5);
  });

  it('[VERSION-31] a change that is made before the device has read the list of sources says its version', async () => {
    fixture.intercept = ({ path }) => (path === '/login' ? undefined : Promise.reject(new Error('no network')));
    const device = await fixture.open({ versions: BUILT_FIRST });
    await device.source('Task').create({ title: 'Pump', status: 'open' }, { id: 'a' });
    await setSecond();
    await fixture.tidemark.conversions.run();
    fixture.intercept = () => undefined;
    await fixture.finish(device.sync());
    await fixture.platform.until(() => device.uploads.list().length === 0);
    expect(await onServer()).toEqual({ a: { name: 'Pump', status: 'todo' } });
  });

  it('[VERSION-15] sees objects in its version also while the server converts them', async () => {
    await push({ a: { title: 'Pump', status: 'open' }, b: { title: 'Valve', status: 'done', town: 'Bern' } });
    const device = await open(BUILT_FIRST);
    const newer = await open(BUILT_SECOND);
    await setSecond();
    await push({ a: { name: 'Pump', status: 'closed' } });
    await hearOfSources(device);
    await hearOfSources(newer);
    expect(shown(device)).toMatchObject({ a: { status: 'done' }, b: { title: 'Valve', status: 'done', town: 'Bern' } });
    expect(shown(newer)).toEqual({
      a: { name: 'Pump', status: 'closed' },
      b: { name: 'Valve', status: 'closed', address: { city: 'Bern' } },
    });
  });

  it.each([
    ['pulls', false],
    ['hears of changes as they happen', true],
  ])(
    '[VERSION-18] never sees an object of a version that it has not heard of: a device that %s',
    async (_how, live) => {
      await push({ a: { title: 'Pump', status: 'open', street: 'Elm' }, b: { title: 'Valve', status: 'open' } });
      fixture.sync.sendsPages = true;
      const device = await open(BUILT_FIRST, { live });
      const looks: Record<string, unknown>[] = [];
      device.source('Task').subscribe(() => looks.push(...Object.values(shown(device))));
      await setSecond();
      await push({ a: { name: 'Big pump', status: 'closed', address: { street: 'Oak' } } });
      if (live) await fixture.platform.until(() => shown(device).a?.title === 'Big pump');
      await fixture.finish(device.sync());
      await fixture.tidemark.conversions.run();
      await push({ c: { name: 'New', status: 'todo' } });
      if (live) await fixture.platform.until(() => shown(device).c !== undefined);
      await fixture.finish(device.sync());
      expect(shown(device)).toEqual({
        a: { title: 'Big pump', status: 'done', street: 'Oak' },
        b: { title: 'Valve', status: 'open' },
        c: { title: 'New', status: 'open' },
      });
      expect(looks.length).toBeGreaterThan(0);
      for (const look of looks)
        expect(look).toEqual({ ...look, title: expect.any(String), status: expect.stringMatching(/open|done/) });
      for (const look of looks) expect(Object.keys(look)).not.toContain('name');
    },
  );

  it('[VERSION-18] an app that knows the newer version sees what the device holds in it, as long as the new objects have not come', async () => {
    await push({ a: { title: 'Pump', status: 'open', town: 'Bern' } });
    const device = await open(BUILT_SECOND);
    await setSecond();
    await fixture.tidemark.conversions.run();
    fixture.intercept = ({ path }) => (path === '/pull' ? Promise.reject(new Error('no network')) : undefined);
    await fixture.platform.advance(3_600_000);
    device.sync().catch(() => undefined);
    await fixture.platform.advance(60_000);
    expect(shown(device)).toEqual({ a: { name: 'Pump', status: 'todo', address: { city: 'Bern' } } });
    fixture.intercept = () => undefined;
    await fixture.finish(device.sync());
    expect(shown(device)).toEqual({ a: { name: 'Pump', status: 'todo', address: { city: 'Bern' } } });
  });

  it('[VERSION-15] queries, orders, indexes and relations are those of its version', async () => {
    await setSecond();
    await fixture.tidemark.conversions.run();
    await push({
      root: { name: 'Root', status: 'closed' },
      a: { name: 'B', status: 'todo', address: { city: 'Bern' }, under: 'root' },
      b: { name: 'A', status: 'todo', address: { city: 'Basel' }, under: 'root' },
      c: { name: 'C', status: 'paused', under: 'a' },
    });
    const device = await open(BUILT_FIRST);
    const tasks = device.source<{ title?: string; status?: string; town?: string; parent?: string }>('Task', {
      indexes: ['status'],
    });
    const query = tasks.query({ where: { status: 'open' }, orderBy: 'title', include: { parent: 'parent' } });
    const stop = query.subscribe(() => undefined);
    const rows = () => query.getSnapshot().map(({ id, included }) => [id, included.parent?.attributes.title]);
    expect(rows()).toEqual([
      ['b', 'Root'],
      ['a', 'Root'],
    ]);
    await push({ b: { status: 'closed' }, c: { status: 'todo' } });
    await fixture.finish(device.sync());
    expect(rows()).toEqual([
      ['a', 'Root'],
      ['c', 'B'],
    ]);
    stop();
    expect(tasks.get('c')?.attributes).toEqual({ title: 'C', status: 'open', parent: 'a' });
  });

  it('[VERSION-6] keeps a change that the newer version cannot express as a problem in its own version', async () => {
    await setSecond();
    await fixture.tidemark.conversions.run();
    await push({ a: { name: 'Pump', status: 'todo' } });
    const device = await open(BUILT_FIRST);
    await device.source('Task').update('a', { status: 'late', title: 'New' });
    await fixture.finish(device.sync());
    expect(device.problems.list()).toMatchObject([
      {
        id: 'a',
        attributes: { status: 'late', title: 'New' },
        current: { title: 'Pump', status: 'open' },
        error: { code: 'not_translatable' },
      },
    ]);
    const [problem] = device.problems.list();
    await device.problems.resolve(problem?.opId ?? '', { status: 'done', title: 'New' });
    await fixture.finish(device.sync());
    expect(await onServer()).toEqual({ a: { name: 'New', status: 'closed' } });
  });

  it('[VERSION-15] the event about a problem has it in the version of the app, as the list of problems does', async () => {
    await setSecond();
    await fixture.tidemark.conversions.run();
    await push({ a: { name: 'Pump', status: 'todo' } });
    const device = await open(BUILT_FIRST);
    const told: unknown[] = [];
    device.on('problem', (problem) => told.push(problem));
    await device.source('Task').update('a', { status: 'late' });
    await fixture.finish(device.sync());
    expect(told).toEqual(device.problems.list());
    expect(told).toMatchObject([{ attributes: { status: 'late' }, current: { title: 'Pump', status: 'open' } }]);
  });

  it('[VERSION-15] a merge function gets both sides in its version', async () => {
    await fixture.tidemark.sources.update('Task', { conflicts: 'detect' });
    await setSecond();
    await fixture.tidemark.conversions.run();
    await push({ a: { name: 'Pump', status: 'todo' } });
    const seen: unknown[] = [];
    const merge = {
      Task: (conflict: unknown) => {
        seen.push(conflict);
        return { title: 'merged' };
      },
    };
    const device = await open(BUILT_FIRST, { merge });
    fixture.platform.setOnline(false);
    await device.source('Task').update('a', { title: 'mine' });
    await push({ a: { name: 'theirs', status: 'closed' } });
    fixture.platform.setOnline(true);
    await fixture.finish(device.sync());
    await fixture.platform.until(() => device.uploads.list().length === 0);
    expect(seen).toEqual([
      { id: 'a', mine: { title: 'mine' }, removed: [], theirs: { title: 'theirs', status: 'done' } },
    ]);
    expect(await onServer()).toEqual({ a: { name: 'merged', status: 'closed' } });
  });
});

describe('an app that is updated', () => {
  it('[VERSION-16] shows what is stored, and what waits to be sent, in its new version, before it has a network', async () => {
    await push({ a: { title: 'Pump', status: 'open', street: 'Elm', town: 'Bern' } });
    const store = lastingStore();
    const before = await fixture.open({ versions: BUILT_FIRST, store });
    await fixture.finish(before.sync());
    fixture.platform.setOnline(false);
    await before.source('Task').update('a', { town: 'Basel', status: 'done' });
    await before.source('Task').create({ title: 'Valve' }, { id: 'b' });
    await fixture.finish(before.close());
    const after = await fixture.open({ versions: BUILT_SECOND, store, user: null });
    expect(shown(after)).toEqual({
      a: { name: 'Pump', status: 'closed', address: { street: 'Elm', city: 'Basel' } },
      b: { name: 'Valve' },
    });
    await after.source('Task').update('b', { status: 'todo' });
    await setSecond();
    await fixture.tidemark.conversions.run();
    await hearOfSources(after);
    expect(after.problems.list()).toEqual([]);
    const expected = {
      a: { name: 'Pump', status: 'closed', address: { street: 'Elm', city: 'Basel' } },
      b: { name: 'Valve', status: 'todo' },
    };
    expect(await onServer()).toEqual(expected);
    expect(shown(after)).toEqual(expected);
  });

  it('[VERSION-16] lists what waits to be sent, and the objects of its problems, in its new version', async () => {
    await push({ a: { title: 'Pump', status: 'open', street: 'Elm' } });
    const store = lastingStore();
    const before = await open(BUILT_FIRST, { store });
    await before.source('Task').update('a', { status: 'late', title: 'Big pump' });
    await fixture.tidemark.sources.schemas.set('Task', { mode: 'enforce' });
    await fixture.finish(before.sync());
    fixture.platform.setOnline(false);
    await before.source('Task').update('a', { street: 'Oak', title: 'Old pump' });
    await fixture.finish(before.close());
    await setSecond();
    await fixture.tidemark.conversions.run();
    const after = await fixture.open({ versions: BUILT_SECOND, store, user: null });
    const look = () => [after.uploads.list(), after.problems.list()];
    const expected = [
      [{ id: 'a', attributes: { name: 'Old pump', address: { street: 'Oak' } } }],
      [{ current: { name: 'Pump', status: 'todo', address: { street: 'Elm' } } }],
    ];
    expect(look()).toMatchObject(expected);
    await hearOfSources(after);
    expect(look()).toMatchObject([[], expected[1] ?? []]);
  });

  it('[VERSION-16] a deletion stays one: in the list of what waits, as a problem, and for merge functions', async () => {
    await fixture.tidemark.sources.update('Task', { conflicts: 'detect' });
    await push({ a: { title: 'Pump', status: 'open' }, b: { title: 'Valve', status: 'open' } });
    const store = lastingStore();
    const before = await open(BUILT_FIRST, { store });
    fixture.platform.setOnline(false);
    for (const id of ['a', 'b']) await before.source('Task').delete(id);
    await fixture.finish(before.close());
    await push({ a: { title: 'Big pump' }, b: { title: 'Big valve' } });
    await setSecond();
    await fixture.tidemark.conversions.run();
    const asked: unknown[] = [];
    const merge = {
      Task: (conflict: unknown) => {
        asked.push(conflict);
        return null;
      },
    };
    const after = await fixture.open({ versions: BUILT_SECOND, store, user: null, merge });
    expect(after.uploads.list().map(({ op, attributes }) => [op, attributes])).toEqual([
      ['delete', null],
      ['delete', null],
    ]);
    await hearOfSources(after);
    await fixture.platform.until(() => after.problems.list().length === 2);
    expect(after.problems.list().map(({ op, attributes, current }) => [op, attributes, current?.name])).toEqual([
      ['delete', null, 'Big pump'],
      ['delete', null, 'Big valve'],
    ]);
    expect(asked).toMatchObject([
      { id: 'a', mine: null, theirs: { name: 'Big pump', status: 'todo' } },
      { id: 'b', mine: null, theirs: { name: 'Big valve', status: 'todo' } },
    ]);
  });

  it('[VERSION-33] what a newer app has removed is not shown by an older one', async () => {
    await setSecond();
    await fixture.tidemark.conversions.run();
    await push({ a: { name: 'Pump', status: 'todo', address: { street: 'Elm', city: 'Bern' } } });
    const store = lastingStore();
    const newer = await open(BUILT_SECOND, { store });
    fixture.platform.setOnline(false);
    await newer.source('Task').update('a', { name: undefined, address: undefined });
    await fixture.finish(newer.close());
    const older = await fixture.open({ versions: BUILT_FIRST, store, user: null });
    expect(shown(older)).toEqual({ a: { status: 'open' } });
  });

  it('[VERSION-16] a change that waits is not joined with one of another version', async () => {
    await push({ a: { title: 'Pump', status: 'open' } });
    const store = lastingStore();
    const before = await fixture.open({ versions: BUILT_FIRST, store });
    await fixture.finish(before.sync());
    fixture.platform.setOnline(false);
    await before.source('Task').update('a', { title: 'one' });
    await fixture.finish(before.close());
    const after = await fixture.open({ versions: BUILT_SECOND, store, user: null });
    await after.source('Task').update('a', { address: { city: 'Bern' } });
    expect(after.uploads.list()).toHaveLength(2);
    expect(shown(after)).toEqual({ a: { name: 'one', status: 'todo', address: { city: 'Bern' } } });
  });

  it('[VERSION-19] sends what an older version could not send any more, and until then shows it and says why', async () => {
    await push({ a: { title: 'Pump', status: 'open' } });
    const store = lastingStore();
    const before = await open(BUILT_FIRST, { store });
    await setSecond();
    await fixture.tidemark.conversions.run();
    await fixture.tidemark.sources.schemas.set('Task', { oldest_version: 2 });
    await before.source('Task').update('a', { status: 'done' });
    await fixture.finish(before.sync());
    await before.source('Task').update('a', { title: 'Big pump' });
    await fixture.finish(before.sync());
    expect(shown(before)).toEqual({ a: { title: 'Big pump', status: 'done' } });
    expect(before.status.getSnapshot().sourceTroubles.get('Task')?.code).toBe('app_too_old');
    expect(before.problems.list()).toEqual([]);
    expect(before.uploads.list()).toHaveLength(2);
    expect(await onServer()).toEqual({ a: { name: 'Pump', status: 'todo' } });
    await fixture.finish(before.close());
    const after = await fixture.open({ versions: BUILT_SECOND, store, user: null });
    await fixture.finish(after.sync());
    await fixture.platform.until(() => after.uploads.list().length === 0);
    await fixture.finish(after.sync());
    expect(await onServer()).toEqual({ a: { name: 'Big pump', status: 'closed' } });
    expect(shown(after)).toEqual({ a: { name: 'Big pump', status: 'closed' } });
  });

  it('[VERSION-19] sends them also when the server serves its version again', async () => {
    const device = await open(BUILT_FIRST);
    await fixture.tidemark.sources.schemas.set('Task', { schema: { ...FIRST, title: 'Task' }, oldest_version: 2 });
    await device.source('Task').create({ title: 'Pump' }, { id: 'a' });
    await fixture.finish(device.sync());
    expect(await onServer()).toEqual({});
    await fixture.tidemark.sources.schemas.set('Task', { oldest_version: 1 });
    await fixture.finish(device.sync());
    await fixture.platform.until(() => device.uploads.list().length === 0);
    expect(await onServer()).toEqual({ a: { title: 'Pump' } });
  });

  it('[VERSION-19] sends them also while the source is in another trouble', async () => {
    const device = await open(BUILT_FIRST);
    await fixture.tidemark.sources.schemas.set('Task', { schema: { ...FIRST, title: 'Task' }, oldest_version: 2 });
    await device.source('Task').create({ title: 'Pump' }, { id: 'a' });
    await fixture.finish(device.sync());
    await fixture.tidemark.sources.schemas.set('Task', { oldest_version: 1 });
    const error = { code: 'backend_error', detail: 'the backend answers nonsense' };
    fixture.intercept = ({ path }, go) =>
      path !== '/pull'
        ? undefined
        : changed(go, ({ sources, ...rest }) => ({ ...rest, sources: { Task: { ...sources.Task, error } } }));
    device.sync().catch(() => undefined);
    await fixture.platform.until(() => device.uploads.list().length === 0);
    expect(device.status.getSnapshot().sourceTroubles.get('Task')?.code).toBe('backend_error');
    expect(await onServer()).toEqual({ a: { title: 'Pump' } });
  });

  it('[VERSION-19] tells the server the versions that it was built with', async () => {
    const device = await open(BUILT_SECOND);
    const { clientId } = device.status.getSnapshot();
    expect(await fixture.tidemark.clients.get(clientId ?? '')).toMatchObject({ schema_versions: { Task: 2 } });
  });

  it('[VERSION-19] tells them again with the next pull if the server could not hear them', async () => {
    const store = lastingStore();
    const before = await open(BUILT_FIRST, { store });
    await fixture.finish(before.close());
    let refused = 0;
    fixture.intercept = ({ path }) => {
      if (!path.startsWith('/clients/') || refused++ > 0) return undefined;
      return Promise.resolve(Response.json({ code: 'overloaded', detail: 'busy' }, { status: 503 }));
    };
    const after = await fixture.open({ versions: BUILT_SECOND, store, user: null });
    const { clientId } = after.status.getSnapshot();
    const said = async () => (await fixture.tidemark.clients.get(clientId ?? '')).schema_versions;
    await fixture.finish(after.sync());
    await fixture.finish(after.sync());
    expect(await said()).toEqual({ Task: 2 });
    expect(refused).toBe(2);
  });

  it('[VERSION-33] does not show what a newer app has changed until the device has heard of that version', async () => {
    await push({ a: { title: 'Pump', status: 'open' } });
    const store = lastingStore();
    const newer = await fixture.open({ versions: BUILT_SECOND, store });
    await fixture.finish(newer.sync());
    fixture.platform.setOnline(false);
    await newer.source('Task').update('a', { name: 'New', address: { city: 'Bern' } });
    await fixture.finish(newer.close());
    const older = await fixture.open({ versions: BUILT_FIRST, store, user: null });
    expect(shown(older)).toEqual({ a: { title: 'Pump', status: 'open' } });
    await setSecond();
    await fixture.tidemark.conversions.run();
    await hearOfSources(older);
    await fixture.finish(older.sync());
    expect(shown(older)).toEqual({ a: { title: 'New', status: 'open', town: 'Bern' } });
    expect(older.problems.list()).toEqual([]);
  });

  it('[VERSION-16] changes that tabs with two versions of the app make to an object are not joined', async () => {
    await push({ a: { title: 'Pump', status: 'open' } });
    const openTab = tabsOf(fixture);
    const leader = await openTab(BUILT_FIRST);
    await fixture.finish(leader.signIn({ login: 'ada', password: 'long enough' }));
    await fixture.finish(leader.sync());
    leader.goOffline();
    const follower = await openTab(BUILT_SECOND);
    await fixture.finish(leader.source('Task').update('a', { title: 'one' }));
    await fixture.finish(follower.source('Task').update('a', { name: 'two', address: { city: 'Bern' } }));
    expect(leader.uploads.list()).toHaveLength(2);
    await fixture.finish(follower.source('Task').update('a', { status: 'closed' }));
    expect(leader.uploads.list()).toHaveLength(2);
    await setSecond();
    await fixture.tidemark.conversions.run();
    leader.goOnline();
    await fixture.finish(leader.sync());
    await fixture.platform.until(() => leader.uploads.list().length === 0);
    expect(await onServer()).toEqual({ a: { name: 'two', status: 'closed', address: { city: 'Bern' } } });
  });

  it.each(['a newer', 'an older'])(
    '[VERSION-36] a problem that %s app resolves in a tab which follows is resolved in the version of that app',
    async (which) => {
      await setSecond();
      await fixture.tidemark.conversions.run();
      await push({ a: { name: 'Pump', status: 'todo' }, b: { name: 'Valve', status: 'todo' } });
      await fixture.tidemark.sources.schemas.set('Task', { mode: 'enforce' });
      const [first, second] = which === 'a newer' ? [BUILT_FIRST, BUILT_SECOND] : [BUILT_SECOND, BUILT_FIRST];
      const openTab = tabsOf(fixture);
      const leader = await openTab(first);
      await fixture.finish(leader.signIn({ login: 'ada', password: 'long enough' }));
      await fixture.finish(leader.sync());
      const follower = await openTab(second);
      for (const id of ['a', 'b'])
        await fixture.finish(
          leader.source('Task').update(id, first === BUILT_FIRST ? { status: 'late' } : { name: 7 }),
        );
      await fixture.finish(leader.sync());
      await fixture.tidemark.objects.pushDeletes({ source: 'Task', user_id: 'ada', objects: ['b'] });
      await fixture.finish(leader.sync());
      const opIdOf = (id: string) => follower.problems.list().find((problem) => problem.id === id)?.opId ?? '';
      const solution = second === BUILT_SECOND ? { name: 'New', status: 'closed' } : { title: 'New', status: 'done' };
      for (const id of ['a', 'b']) await fixture.finish(follower.problems.resolve(opIdOf(id), solution));
      await fixture.finish(leader.sync());
      expect(await onServer()).toEqual({
        a: { name: 'New', status: 'closed' },
        b: { name: 'New', status: 'closed' },
      });
      expect(leader.problems.list()).toEqual([]);
    },
  );

  it('[VERSION-15] an app that says no version, and a source without a schema, see objects as they are', async () => {
    await setSecond();
    await push({ a: { name: 'Pump', status: 'todo' } });
    const silent = await fixture.open();
    await fixture.finish(silent.sync());
    expect(shown(silent)).toEqual({ a: { name: 'Pump', status: 'todo' } });
    const other = await open({ Product: { version: 3, steps: [] } });
    expect(shown(other)).toEqual({ a: { name: 'Pump', status: 'todo' } });
    await silent.source('Task').update('a', { status: 'closed' });
    await fixture.finish(silent.sync());
    expect(await onServer()).toEqual({ a: { name: 'Pump', status: 'closed' } });
  });
});
