import type { Device } from '@tidemark/client';
import type { Outcome, PullAnswer, PushAnswer, PushRequest, Upload } from '@tidemark/protocol';
import { CrashingStore, type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { memoryStore } from '../stores/memory-store.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
});

const push = (objects: Record<string, Record<string, unknown>>, source = 'Order') =>
  fixture.tidemark.objects.push({ source, user_id: 'ada', objects });

const seen = (device: Device, source = 'Order') =>
  Object.fromEntries(
    device
      .source(source)
      .list()
      .map(({ id, attributes }) => [id, attributes]),
  );

const onServer = async (source = 'Order') =>
  Object.fromEntries(await fixture.tidemark.objects.read({ source, user_id: 'ada' }));

const pushed = (): readonly Upload[] =>
  fixture.sync.log.filter(({ path }) => path === '/push').flatMap(({ body }) => (body as PushRequest).changes);

const synced = async (options: Parameters<DeviceFixture['open']>[0] = {}) => {
  const device = await fixture.open(options);
  await fixture.finish(device.sync());
  return device;
};

/** Lets the test change the answers to pushes. */
function onPush(change: (answer: PushAnswer) => PushAnswer | Promise<PushAnswer>): void {
  fixture.intercept = ({ path }, go) =>
    path === '/push'
      ? go().then(async (response) => Response.json(await change((await response.json()) as PushAnswer)))
      : undefined;
}

describe('changes made here', () => {
  it('[UP-1] changes are checked by the rules of the server before anything is stored', async () => {
    const device = await synced();
    const orders = device.source<Record<string, unknown>>('Order');
    const deep = JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) as unknown;
    const wrong: readonly [Record<string, unknown>, string][] = [
      [{}, 'invalid_value'],
      [{ a: undefined }, 'invalid_value'],
      [{ a: Number.NaN }, 'unsafe_number'],
      [{ a: 2 ** 53 }, 'unsafe_number'],
      [{ a: '\ud800' }, 'invalid_value'],
      [{ a: new Date(0) }, 'invalid_request'],
      [{ a: () => 1 }, 'invalid_request'],
      [{ a: JSON.parse('{"__proto__":1}') }, 'forbidden_key'],
      [JSON.parse('{"__proto__":1}') as Record<string, unknown>, 'invalid_name'],
      [{ '': 1 }, 'invalid_name'],
      [{ a: deep }, 'too_deep'],
    ];
    for (const [attributes, code] of wrong) {
      await expect(orders.create(attributes), JSON.stringify(attributes)).rejects.toMatchObject({ code });
    }
    for (const id of ['', '*', '__proto__', 'x'.repeat(600)]) {
      await expect(orders.create({ a: 1 }, { id })).rejects.toMatchObject({ code: 'invalid_name' });
    }
    await expect(orders.update('nobody', { a: 1 })).rejects.toMatchObject({ code: 'object_not_found' });
    await expect(orders.delete('nobody')).rejects.toMatchObject({ code: 'object_not_found' });
    expect([device.uploads.list(), seen(device)]).toEqual([[], {}]);
  });

  it("[UP-1] later changes of the app's own object do not affect the stored one", async () => {
    const device = await synced();
    const attributes = { list: [1] };
    const { id } = await device.source('Order').create(attributes);
    attributes.list.push(2);
    expect(seen(device)).toEqual({ [id]: { list: [1] } });
  });

  it('[UP-1] `constructor` and the like are ordinary ids and attributes', async () => {
    const device = await synced();
    for (const id of ['constructor', 'toString', 'hasOwnProperty', 'length']) {
      await fixture.finish(device.source('Order').create({ constructor: 1, toString: id }, { id }));
    }
    await expect(device.source('Order').create({ a: 1 }, { id: 'constructor' })).rejects.toMatchObject({
      code: 'object_exists',
    });
    await fixture.finish(device.sync());
    expect(await onServer()).toEqual(seen(device));
    expect(Object.keys(seen(device))).toHaveLength(4);
  });

  it('[UP-2] only attributes that differ are uploaded, and nothing if none does', async () => {
    await push({ 1: { a: 1, b: [1], c: { x: 1, y: 2 } } });
    const device = await synced();
    fixture.platform.setOnline(false);
    await device.source('Order').update('1', { a: 1, b: [1], c: { y: 2, x: 1 } });
    expect(device.uploads.list()).toEqual([]);
    await device.source('Order').update('1', { a: 2, b: [1] });
    expect(device.uploads.list()).toMatchObject([{ op: 'update', id: '1', attributes: { a: 2 }, state: 'waiting' }]);
  });

  it('[UP-3] changes of one write become visible together, or none of them', async () => {
    const device = await synced();
    fixture.platform.setOnline(false);
    const looks: unknown[] = [];
    device.source('Order').subscribe(() => looks.push([seen(device), seen(device, 'Product')]));
    await fixture.finish(
      device.write((draft) => {
        const id = draft.create('Order', { n: 1 }, { id: 'o' });
        draft.create('Product', { of: id }, { id: 'p' });
        draft.update('Order', id, { n: 2 });
      }),
    );
    expect(looks).toEqual([[{ o: { n: 2 } }, { p: { of: 'o' } }]]);
    const refused = device.write((draft) => {
      draft.delete('Order', 'o');
      draft.update('Order', 'o', { n: 3 });
    });
    await expect(refused).rejects.toMatchObject({ code: 'object_not_found' });
    expect(seen(device)).toEqual({ o: { n: 2 } });
  });

  it('[UP-4] changes to a source that devices cannot write are refused', async () => {
    await fixture.tidemark.sources.declare({ name: 'Fixed', partition_type: 'user', read_only: true });
    const device = await synced();
    await expect(device.source('Fixed').create({ a: 1 })).rejects.toMatchObject({ code: 'source_read_only' });
  });

  it('[UP-5] changes arrive in order and once, however many there are', async () => {
    const device = await synced();
    fixture.platform.setOnline(false);
    await device.write((draft) => {
      for (let n = 0; n < 2_500; n++) draft.create('Order', { n }, { id: `o${n}` });
      for (let n = 0; n < 3; n++) draft.update('Order', 'o7', { n: `again ${n}` });
    });
    fixture.platform.setOnline(true);
    await fixture.finish(device.sync());
    expect(pushed().map(({ id }) => id)).toEqual([...Array.from({ length: 2_500 }, (_, n) => `o${n}`), 'o7']);
    const sizes = fixture.sync.log
      .filter(({ path }) => path === '/push')
      .map(({ body }) => (body as PushRequest).changes.length);
    expect(sizes).toEqual([1_000, 1_000, 501]);
    expect(await onServer()).toMatchObject({ o7: { n: 'again 2' }, o2499: { n: 2_499 } });
    expect([device.uploads.list(), device.problems.list()]).toEqual([[], []]);
  });

  it('[UP-5] a push is bounded by the size of its text, too', async () => {
    const device = await synced();
    fixture.platform.setOnline(false);
    const text = 'x'.repeat(200_000);
    await device.write((draft) => {
      for (let n = 0; n < 5; n++) draft.create('Order', { text }, { id: `o${n}` });
    });
    fixture.platform.setOnline(true);
    await fixture.finish(device.sync());
    const sizes = fixture.sync.log
      .filter(({ path }) => path === '/push')
      .map(({ body }) => (body as PushRequest).changes.length);
    expect(sizes).toEqual([2, 2, 1]);
  });
});

describe('outcomes', () => {
  it('[UP-6] after a lost answer the upload is repeated with the same op_id, and applied once', async () => {
    const device = await synced();
    let lost = 0;
    fixture.intercept = ({ path }, go) => {
      if (!['/push', '/pull'].includes(path) || ++lost > 2) return undefined;
      return go().then(() => Promise.reject(new TypeError('the connection broke')));
    };
    await device.source('Order').create({ n: 1 }, { id: 'o' });
    await fixture.platform.until(() => device.uploads.list().length === 0);
    await fixture.finish(device.sync());
    const [first, second] = pushed();
    expect(pushed()).toHaveLength(2);
    expect(second).toEqual(first);
    expect([seen(device), device.problems.list(), device.uploads.list()]).toEqual([{ o: { n: 1 } }, [], []]);
  });

  it('[UP-6] outcomes are acknowledged, and then not sent again', async () => {
    const device = await synced();
    await device.source('Order').create({ n: 1 }, { id: 'o' });
    await fixture.finish(device.sync());
    const acknowledged = fixture.sync.log.flatMap(({ body }) =>
      Object.values((body as PushRequest | undefined)?.acknowledged ?? {}),
    );
    expect(acknowledged.flat()).toEqual([pushed()[0]?.op_id]);
    await fixture.finish(device.sync());
    expect(fixture.sync.log.at(-1)?.body).not.toHaveProperty('acknowledged');
  });

  it('[UP-7] a local change stays visible until a catch-up that includes it is complete', async () => {
    await push({ o: { n: 0, other: 0 } });
    const device = await synced();
    const looks: unknown[] = [];
    device.source('Order').subscribe(() => looks.push(seen(device).o));
    // Another client changes the object just before the push arrives; the page with both comes later.
    fixture.intercept = ({ path }, go) => (path === '/push' ? push({ o: { other: 1 } }).then(go) : undefined);
    await device.source('Order').update('o', { n: 1 });
    await fixture.finish(device.sync());
    expect(looks).toEqual([
      { n: 1, other: 0 },
      { n: 1, other: 0 },
      { n: 1, other: 1 },
    ]);
  });

  it('[UP-7] a local change stays visible when a page brings it before its outcome', async () => {
    const device = await synced();
    const looks: unknown[] = [];
    device.source('Order').subscribe(() => looks.push(seen(device)));
    let isLost = true;
    fixture.intercept = ({ path }, go) => {
      if (path !== '/push' || !isLost) return undefined;
      return go().then(() => Promise.reject(new TypeError('the connection broke')));
    };
    await device.source('Order').create({ n: 1 }, { id: 'o' });
    // Only the pull gets through, with the object and the outcome.
    await fixture.platform.until(() => device.uploads.list().length === 0);
    isLost = false;
    await fixture.finish(device.sync());
    for (const look of looks) expect(look).toEqual({ o: { n: 1 } });
    expect(device.problems.list()).toEqual([]);
  });

  it('[UP-7] a local change stays visible when the outcome comes with a page made before it', async () => {
    const device = await synced();
    const looks: unknown[] = [];
    device.source('Order').subscribe(() => looks.push(seen(device)));
    let late: (() => Promise<Response>) | null = null;
    fixture.intercept = ({ path }, go) => {
      if (path === '/push' && late === null) {
        late = go;
        return Promise.reject(new TypeError('the connection broke'));
      }
      if (path !== '/pull' || late === null || fixture.sync.count('/push') > 0) return undefined;
      const arrive = late;
      // The page is made first, then the delayed push arrives, then the outcomes are read.
      return go().then(async (page) => {
        await arrive();
        const { sources } = (await page.json()) as PullAnswer;
        const { outcomes } = (await (await go()).json()) as PullAnswer;
        return Response.json({ sources, outcomes });
      });
    };
    await device.source('Order').create({ n: 1 }, { id: 'o' });
    await fixture.platform.until(() => device.uploads.list().length === 0);
    await fixture.finish(device.sync());
    expect(looks.length).toBeGreaterThan(1);
    for (const look of looks) expect(look).toEqual({ o: { n: 1 } });
    expect(pushed()).toHaveLength(1);
  });

  it('[UP-8] a rejected upload is rolled back and kept as a problem with the current object', async () => {
    await push({ o: { n: 'server' } });
    const device = await synced({ sources: ['Product'] });
    const problems: unknown[] = [];
    device.on('problem', (problem) => problems.push(problem));
    await device.source('Order').create({ n: 'mine' }, { id: 'o' });
    expect(seen(device)).toEqual({ o: { n: 'mine' } });
    await fixture.finish(device.sync());
    expect(seen(device)).toEqual({});
    const problem = {
      op: 'create',
      source: 'Order',
      id: 'o',
      attributes: { n: 'mine' },
      status: 'rejected',
      error: { code: 'object_exists' },
      current: { n: 'server' },
    };
    expect(device.problems.list()).toMatchObject([problem]);
    expect(problems).toMatchObject([problem]);
    expect(device.status.getSnapshot()).toMatchObject({ problems: 1, pendingUploads: 0 });
    await device.problems.dismiss(device.problems.list()[0]?.opId ?? '');
    expect(device.problems.list()).toEqual([]);
    await expect(device.problems.dismiss('x')).rejects.toMatchObject({ code: 'unknown_upload' });
  });

  it('[UP-8] with conflict detection a conflict is reported with the state on which the change was made', async () => {
    await fixture.tidemark.sources.declare({ name: 'Strict', partition_type: 'user', conflicts: 'detect' });
    await push({ o: { a: 1, b: 1 } }, 'Strict');
    const device = await synced();
    const strict = device.source('Strict');
    fixture.platform.setOnline(false);
    await strict.update('o', { a: 'mine' });
    await push({ o: { a: 'theirs' } }, 'Strict');
    fixture.platform.setOnline(true);
    await fixture.finish(device.sync());
    expect(strict.get('o')?.attributes).toEqual({ a: 'theirs', b: 1 });
    expect(device.problems.list()).toMatchObject([
      { status: 'conflict', error: { code: 'object_changed' }, current: { a: 'theirs', b: 1 } },
    ]);
    // Repeated on top of the current state it is no conflict any more.
    await device.problems.retry(device.problems.list()[0]?.opId ?? '');
    expect(strict.get('o')?.attributes).toEqual({ a: 'mine', b: 1 });
    await fixture.finish(device.sync());
    expect([await onServer('Strict'), device.problems.list()]).toEqual([{ o: { a: 'mine', b: 1 } }, []]);
    expect(new Set(pushed().map(({ op_id }) => op_id)).size).toBe(2);
  });

  it('[UP-8] a change to an object that the device created is no conflict, also before its first pull', async () => {
    await fixture.tidemark.sources.declare({ name: 'Strict', partition_type: 'user', conflicts: 'detect' });
    const device = await fixture.open();
    fixture.platform.setOnline(false);
    const strict = device.source('Strict');
    await strict.create({ a: 1 }, { id: 'o' });
    await strict.update('o', { a: 2 });
    await strict.update('o', { b: 3 });
    fixture.platform.setOnline(true);
    await fixture.finish(device.sync());
    await strict.update('o', { a: 4 });
    await fixture.finish(device.sync());
    await strict.delete('o');
    await fixture.finish(device.sync());
    expect([await onServer('Strict'), device.problems.list()]).toEqual([{}, []]);
  });

  it('[UP-9] an upload that is queued for the backend waits, and its outcome comes with a pull', async () => {
    const device = await synced();
    onPush(({ outcomes }) => ({ outcomes: outcomes.map((outcome) => ({ ...outcome, status: 'queued' as const })) }));
    await device.source('Order').create({ n: 1 }, { id: 'o' });
    await fixture.platform.until(
      () => device.uploads.list()[0]?.state === 'queued' || device.uploads.list().length === 0,
    );
    await fixture.finish(device.sync());
    expect(pushed()).toHaveLength(1);
    expect([device.uploads.list(), seen(device)]).toEqual([[], { o: { n: 1 } }]);
  });

  it('[UP-10] one upload that makes the server refuse the whole push does not block the others', async () => {
    const device = await synced();
    fixture.platform.setOnline(false);
    await device.write((draft) => {
      for (let n = 0; n < 9; n++) draft.create('Order', { n }, { id: `o${n}` });
    });
    fixture.platform.setOnline(true);
    fixture.intercept = ({ path, body }) => {
      const isBad = path === '/push' && (body as PushRequest).changes.some(({ id }) => id === 'o5');
      if (!isBad) return undefined;
      return Promise.resolve(Response.json({ code: 'invalid_request', detail: 'no' }, { status: 400 }));
    };
    await fixture.finish(device.sync());
    expect(Object.keys(await onServer()).sort()).toEqual(['o0', 'o1', 'o2', 'o3', 'o4', 'o6', 'o7', 'o8']);
    expect(device.problems.list()).toMatchObject([{ id: 'o5', error: { code: 'invalid_request', detail: 'no' } }]);
    expect(seen(device)).toEqual(await onServer());
  });

  it('[UP-10] an answer without outcomes is retried, and not taken for success', async () => {
    const device = await synced();
    onPush(() => ({ outcomes: [] }));
    await device.source('Order').create({ n: 1 }, { id: 'o' });
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'bad_answer' });
    fixture.intercept = () => undefined;
    await fixture.finish(device.sync());
    expect(device.uploads.list()).toEqual([]);
  });
});

describe('links', () => {
  const asBackend = (outcomes: readonly Outcome[]) =>
    Promise.all(
      outcomes.map(async (outcome): Promise<Outcome> => {
        if (outcome.source !== 'Order' || outcome.id.startsWith('real-')) return outcome;
        const objects = await onServer();
        await fixture.tidemark.objects.pushDeletes({ source: 'Order', user_id: 'ada', objects: [outcome.id] });
        await push({ [`real-${outcome.id}`]: objects[outcome.id] as Record<string, unknown> });
        return { ...outcome, id: `real-${outcome.id}` };
      }),
    );

  it('[UP-11] an object gets the id of the backend, also in everything that refers to it', async () => {
    await fixture.tidemark.sources.declare({ name: 'Line', partition_type: 'user', references: { order_id: 'Order' } });
    const device = await synced();
    const linked: unknown[] = [];
    device.on('linked', (link) => linked.push(link));
    onPush(async ({ outcomes }) => ({ outcomes: await asBackend(outcomes) }));
    let pushes = 0;
    const answerPush = fixture.intercept;
    // The order is sent alone; its line and a change of it are made meanwhile.
    fixture.intercept = (exchange, go, init) => {
      if (exchange.path !== '/push' || ++pushes > 1)
        return exchange.path === '/push' ? answerPush(exchange, go, init) : undefined;
      return device
        .write((draft) => {
          draft.create('Line', { order_id: 'tmp', n: 1 }, { id: 'l' });
          draft.update('Order', 'tmp', { n: 2 });
        })
        .then(() => answerPush(exchange, go, init)) as Promise<Response>;
    };
    await device.source('Order').create({ n: 1 }, { id: 'tmp' });
    await fixture.platform.until(() => linked.length === 1);
    expect(linked).toEqual([{ source: 'Order', from: 'tmp', to: 'real-tmp' }]);
    expect(seen(device, 'Line')).toEqual({ l: { order_id: 'real-tmp', n: 1 } });
    expect(seen(device)).toEqual({ 'real-tmp': { n: 2 } });
    expect(device.source('Order').get('tmp')).toBe(device.source('Order').get('real-tmp'));
    await fixture.finish(device.sync());
    expect([await onServer(), await onServer('Line')]).toEqual([
      { 'real-tmp': { n: 2 } },
      { l: { order_id: 'real-tmp', n: 1 } },
    ]);
    // The app may continue to use the temporary id.
    await device.source('Order').update('tmp', { n: 3 });
    await device.source('Line').create({ order_id: 'tmp' }, { id: 'm' });
    await fixture.finish(device.sync());
    expect([seen(device), seen(device, 'Line').m, device.problems.list()]).toEqual([
      { 'real-tmp': { n: 3 } },
      { order_id: 'real-tmp' },
      [],
    ]);
  });

  it('[UP-11] references that the server still has under the temporary id show the final one', async () => {
    await fixture.tidemark.sources.declare({ name: 'Line', partition_type: 'user', references: { order_id: 'Order' } });
    await push({ l: { order_id: 'tmp' } }, 'Line');
    const device = await synced();
    onPush(async ({ outcomes }) => ({ outcomes: await asBackend(outcomes) }));
    await device.source('Order').create({ n: 1 }, { id: 'tmp' });
    await fixture.finish(device.sync());
    expect(seen(device, 'Line')).toEqual({ l: { order_id: 'real-tmp' } });
    expect(device.status.getSnapshot().heals).toBe(0);
  });
});

describe('the queue', () => {
  it('[UP-12] the queue can be read and observed, and its list stays the same until it changes', async () => {
    const device = await synced();
    fixture.platform.setOnline(false);
    let calls = 0;
    device.uploads.subscribe(() => calls++);
    const before = device.uploads.list();
    expect(device.uploads.list()).toBe(before);
    await device.source('Order').create({ n: 1 }, { id: 'o' });
    expect(calls).toBe(1);
    expect(device.uploads.list()).toMatchObject([{ source: 'Order', op: 'create', id: 'o', state: 'waiting' }]);
    expect(device.uploads.list()).toBe(device.uploads.list());
  });

  it('[UP-12] a change can be discarded, with all changes to an object it created', async () => {
    await push({ kept: { n: 0 } });
    const device = await synced();
    fixture.platform.setOnline(false);
    await device.source('Order').create({ n: 1 }, { id: 'o' });
    await device.source('Order').update('kept', { n: 1 });
    await device.source('Order').update('o', { n: 2 });
    const [create, update] = device.uploads.list();
    expect(await device.uploads.discard(create?.opId ?? '')).toHaveLength(2);
    expect(seen(device)).toEqual({ kept: { n: 1 } });
    await device.uploads.discard(update?.opId ?? '');
    expect(seen(device)).toEqual({ kept: { n: 0 } });
    await expect(device.uploads.discard('nobody')).rejects.toMatchObject({ code: 'unknown_upload' });
    fixture.platform.setOnline(true);
    await fixture.finish(device.sync());
    expect(pushed()).toEqual([]);
  });

  it('[UP-13] the queue survives a restart with its order and op_ids', async () => {
    const store = memoryStore();
    const kept = { load: () => store.load(), commit: store.commit, close: async () => undefined };
    const first = await synced({ store: kept });
    fixture.platform.setOnline(false);
    await first.source('Order').create({ n: 1 }, { id: 'o' });
    await first.source('Order').update('o', { n: 2 });
    const before = first.uploads.list();
    await first.close();
    const second = await fixture.open({ store: kept, user: null });
    expect(second.uploads.list()).toEqual(before);
    expect(seen(second)).toEqual({ o: { n: 2 } });
    await second.source('Order').update('o', { n: 3 });
    fixture.platform.setOnline(true);
    await fixture.finish(second.sync());
    expect(
      pushed()
        .map(({ op_id }) => op_id)
        .slice(0, 2),
    ).toEqual(before.map(({ opId }) => opId));
    expect(await onServer()).toEqual({ o: { n: 3 } });
  });

  it('[UP-13] a change that the store refuses leaves no trace', async () => {
    const store = memoryStore();
    let isFull = false;
    const full = {
      load: () => store.load(),
      commit: (writes: Parameters<typeof store.commit>[0]) =>
        isFull ? Promise.reject(new Error('disk full')) : store.commit(writes),
      close: () => store.close(),
    };
    const device = await synced({ store: full });
    isFull = true;
    await expect(device.source('Order').create({ n: 1 })).rejects.toMatchObject({ code: 'store_failed' });
    expect([seen(device), device.uploads.list()]).toEqual([{}, []]);
    isFull = false;
    await device.source('Order').create({ n: 1 }, { id: 'o' });
    await fixture.finish(device.sync());
    expect(await onServer()).toEqual({ o: { n: 1 } });
  });
});

describe('a process that dies at any commit', () => {
  it('[UP-14] a device that dies at any commit uploads each change exactly once, and shows only complete states', async () => {
    let deaths = 0;
    let isAtEnd = false;
    for (let atCommit = 1; !isAtEnd; atCommit++) {
      for (const isKept of [false, true]) {
        fixture = await newDeviceFixture({ seed: atCommit });
        await push({ a: { n: 0 }, b: { n: 0 }, c: { n: 0 } });
        const store = new CrashingStore([], { atCommit, isKept });
        const done = await live(store);
        const survivors = await store.survivors();
        const second = await fixture.open({ store: memoryStore(survivors), pageObjects: 2 });
        deaths += store.isDead ? 1 : 0;
        isAtEnd = !store.isDead;
        await fixture.finish(second.sync());
        await fixture.finish(second.sync());
        const server = await onServer();
        expect(seen(second), `${atCommit} ${isKept}`).toEqual(server);
        expect(second.uploads.list()).toEqual([]);
        expect(second.problems.list()).toEqual([]);
        // Changes reported as stored have reached the server.
        if (done.includes('create')) expect(server.mine).toBeDefined();
        if (done.includes('update')) expect(server.a).toEqual({ n: 1 });
        if (done.includes('delete')) expect(server.b).toBeUndefined();
        expectStableOps();
      }
    }
    expect(deaths).toBeGreaterThan(10);
  });

  /** Runs a device until its store crashes. Returns the steps that were reported as done. */
  async function live(store: CrashingStore): Promise<readonly string[]> {
    const done: string[] = [];
    const device = await fixture.open({ store, user: null, pageObjects: 2 });
    const steps = async () => {
      await device.signIn({ login: 'ada', password: 'long enough' });
      await device.sync();
      fixture.platform.setOnline(false);
      await device.source('Order').create({ n: 5 }, { id: 'mine' });
      done.push('create');
      await device.source('Order').update('a', { n: 1 });
      done.push('update');
      fixture.platform.setOnline(true);
      await device.sync();
      await device.source('Order').delete('b');
      done.push('delete');
      await device.sync();
      done.push('all');
    };
    const life = steps().catch((error: unknown) => done.push(String(error)));
    await fixture.platform.until(
      () => store.isDead || done.includes('all') || done.some((step) => step.includes('Error')),
    );
    expect(done.filter((step) => step.includes('Error'))).toEqual([]);
    if (!store.isDead) await life;
    fixture.platform.setOnline(true);
    fixture.platform.forgetTimers();
    // A crashed device may not be able to close.
    void device.close();
    return done;
  }

  /** Checks that repeated uploads were identical. */
  function expectStableOps(): void {
    const byOp = new Map<string, Upload>();
    for (const upload of pushed()) {
      const first = byOp.get(upload.op_id) ?? upload;
      expect(upload).toEqual(first);
      byOp.set(upload.op_id, first);
    }
  }
});
