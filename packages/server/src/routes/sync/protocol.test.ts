import type { Outcome, Page, PullAnswer } from '@tidemark/protocol';
import { Caller, HeldObjects, makeUser, openDevice, openLibrary, type TestDevice } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

let server: TestServer;
let admin: Caller;
let anna: TestDevice;
let tablet: TestDevice;
let bob: TestDevice;
/** Sources of one test. */
let names: { readonly shared: string; readonly own: string };
let tests = 0;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  for (const login of ['anna', 'bob']) await makeUser(server, login);
  anna = await openDevice(server, 'anna');
  tablet = await openDevice(server, 'anna');
  bob = await openDevice(server, 'bob');
});

beforeEach(async () => {
  tests++;
  names = { shared: `Product ${tests}`, own: `Order ${tests}` };
  await declare(names.shared, { partition_type: 'app' });
  await declare(names.own);
});

afterAll(async () => {
  admin.close();
  await server.close();
});

async function declare(name: string, attributes: Readonly<Record<string, unknown>> = {}): Promise<void> {
  expect((await admin.post('/rc/v1/sources', { name, ...attributes })).status).toBe(200);
}

async function push(source: string, objects: unknown, user_id?: string): Promise<void> {
  const body = { objects, ...(user_id === undefined ? {} : { user_id }) };
  const reply = await admin.post(`/app/v1/${encodeURIComponent(source)}/push_objects`, body);
  expect(reply.status).toBe(200);
}

async function pull(
  { api, id }: TestDevice,
  tokens: Readonly<Record<string, string | null>>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<PullAnswer> {
  const sources = Object.fromEntries(Object.entries(tokens).map(([name, token]) => [name, { token }]));
  const reply = await api.post('/sync/v1/pull', { client_id: id, sources, ...more });
  expect(reply.status).toBe(200);
  return reply.body as PullAnswer;
}

async function pullOne(device: TestDevice, source: string, token: string | null, max_objects?: number): Promise<Page> {
  const { sources } = await pull(device, { [source]: token }, max_objects === undefined ? {} : { max_objects });
  return sources[source] as Page;
}

async function catchUp(
  device: TestDevice,
  source: string,
  held = new HeldObjects(),
  max?: number,
): Promise<HeldObjects> {
  for (;;) {
    const page = await pullOne(device, source, held.token, max);
    held.apply(page);
    if (!page.more) return held;
  }
}

async function upload(device: TestDevice, ...changes: readonly unknown[]): Promise<readonly Outcome[]> {
  const reply = await device.api.post('/sync/v1/push', { client_id: device.id, changes });
  expect(reply).toMatchObject({ status: 200 });
  return (reply.body as { outcomes: Outcome[] }).outcomes;
}

interface Cursor {
  readonly base: number | null;
}

/** What administrators see of a device. It is stored after the answer, so it may take several reads. */
async function cursorOf({ id }: TestDevice, source: string, isThere: (cursor: Cursor) => boolean) {
  for (let looks = 0; looks < 1_000; looks++) {
    const { body } = await admin.get(`/rc/v1/clients/${id}`);
    const { cursors, last_sync } = body as { cursors: Record<string, Cursor>; last_sync: string | null };
    const cursor = cursors[source];
    if (cursor !== undefined && isThere(cursor)) return { cursor, last_sync };
  }
  throw new Error('the cursor of the device was never noted');
}

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`o${index}`, { n: index, name: `object ${index}` }]));

describe('sources', () => {
  it('[SYNC-6] a device gets the list of its sources and their settings', async () => {
    await declare(`Bulk ${tests}`, { sync_type: 'bulk_only', read_only: true, conflicts: 'detect' });
    const { body } = await anna.api.get('/sync/v1/sources');
    const { sources } = body as { sources: { name: string }[] };
    expect(sources.find(({ name }) => name === names.shared)).toEqual({
      name: names.shared,
      partition_type: 'app',
      sync_type: 'incremental',
      conflicts: 'last_writer',
      read_only: false,
      references: {},
      searchable: false,
    });
    expect(sources.find(({ name }) => name === `Bulk ${tests}`)).toMatchObject({
      sync_type: 'bulk_only',
      read_only: true,
      conflicts: 'detect',
    });
  });
});

describe('pulling', () => {
  it('[SYNC-7] one request pulls all sources, each from its own token, until the device has the state of the server', async () => {
    await push(names.shared, many(7));
    await push(names.own, { 1: { a: 1, b: 1 }, 2: { a: 2 } }, 'anna');
    const held = { shared: new HeldObjects(), own: new HeldObjects() };
    for (let more = true; more; ) {
      const { sources } = await pull(
        anna,
        { [names.shared]: held.shared.token, [names.own]: held.own.token },
        { max_objects: 3 },
      );
      const pages = { shared: sources[names.shared] as Page, own: sources[names.own] as Page };
      held.shared.apply(pages.shared);
      held.own.apply(pages.own);
      more = pages.shared.more || pages.own.more;
    }
    expect(Object.fromEntries(held.shared.objects)).toEqual(many(7));
    expect(Object.fromEntries(held.own.objects)).toEqual({ 1: { a: 1, b: 1 }, 2: { a: 2 } });
    await push(names.own, { 1: { b: 2 } }, 'anna');
    const page = await pullOne(anna, names.own, held.own.token);
    expect(page).toMatchObject({ patch: { 1: { b: 2 } }, more: false, size: 2 });
    held.own.apply(page);
    expect(await pullOne(anna, names.own, held.own.token)).toEqual({
      token: held.own.token,
      more: false,
      size: 2,
      checksum: page.checksum,
    });
  });

  it('[SYNC-7] unusual names and values arrive exactly, as keys and as values', async () => {
    const hard = ['constructor', 'toString', 'a"b', 'a\\b', '😀', '\u2028', '{}', ' '];
    for (const name of hard) {
      const source = `${names.shared} ${name}`;
      await declare(source, { partition_type: 'app' });
      await push(source, { [name]: { [name]: [name, null, 1.5] } });
      const { sources } = await pull(anna, { [source]: null });
      expect(sources[source]).toMatchObject({ put: { [name]: { [name]: [name, null, 1.5] } } });
    }
  });

  it('[SYNC-8] a source that cannot be pulled does not affect the others', async () => {
    const bulk = `Bulk ${tests}`;
    await declare(bulk, { sync_type: 'bulk_only' });
    const { sources } = await pull(anna, { Nope: null, '*': null, __proto__x: null, [bulk]: 'x', [names.own]: null });
    expect(sources).toMatchObject({
      Nope: { error: { code: 'source_not_found' } },
      '*': { error: { code: 'invalid_name' } },
      [bulk]: { error: { code: 'snapshot_required' } },
      [names.own]: { reset: true, more: false },
    });
    expect((await pull(anna, {})).sources).toEqual({});
  });

  it('[SYNC-8] an invalid pull is refused', async () => {
    const { api, id: client_id } = anna;
    const bodies: readonly unknown[] = [
      {},
      { client_id },
      { client_id, sources: [] },
      { client_id, sources: { A: null } },
      { client_id, sources: { A: 'token' } },
      { client_id, sources: { A: { token: 7 } } },
      { client_id, sources: { 'a\nb': null } },
      { client_id, sources: { 'a\u2028b': 7 } },
      { client_id, sources: { A: { token: null, filter: 1 } } },
      { client_id, sources: {}, max_objects: '5' },
      { client_id, sources: {}, acknowledged: { A: 'x' } },
      { client_id, sources: {}, acknowledged: { 'a\nb': null } },
      { client_id, sources: {}, acknowledged: { A: [7] } },
      { client_id: 7, sources: {} },
    ];
    for (const body of bodies) {
      expect([body, (await api.post('/sync/v1/pull', body)).code]).toEqual([body, 'invalid_request']);
    }
    expect((await api.post('/sync/v1/pull', { client_id, sources: {}, max_objects: 0 })).code).toBe('invalid_value');
    const text = `{"client_id":${JSON.stringify(client_id)},"sources":{"__proto__":{"token":null}}}`;
    const reply = await api.postText('/sync/v1/pull', text);
    expect(reply.text).toMatch(
      /^\{"sources":\{"__proto__":\{"error":\{"code":"invalid_name",[^}]*\}\}\},"outcomes":\[\]\}$/,
    );
  });

  it('[SYNC-9] a forged, future, foreign or outdated token starts over with the caller’s own data', async () => {
    await push(names.own, { mine: { a: 1 } }, 'anna');
    await push(names.own, { 'of bob': { secret: 1 } }, 'bob');
    await push(names.shared, many(3));
    const ofBob = await catchUp(bob, names.own);
    const ofShared = await catchUp(anna, names.shared);
    const own = await catchUp(anna, names.own);
    const [version, epoch] = (own.token ?? '').split('.');
    const tokens = [
      '',
      'x',
      'null',
      '1.2.3',
      `${own.token}x`,
      (own.token ?? '').slice(1),
      (own.token ?? '').toUpperCase(),
      ofBob.token ?? '',
      ofShared.token ?? '',
      `${version}.${epoch}.zzzz.bzzzz.0`,
      'x'.repeat(100_000),
    ];
    for (const token of tokens) {
      const page = await pullOne(anna, names.own, token);
      expect(page).toMatchObject({ reset: true, put: { mine: { a: 1 } }, size: 1, more: false });
      expect(JSON.stringify(page)).not.toContain('secret');
    }
    await admin.delete(`/rc/v1/sources/${encodeURIComponent(names.own)}`);
    await declare(names.own);
    await push(names.own, { other: { b: 1 } }, 'anna');
    expect(await pullOne(anna, names.own, own.token)).toMatchObject({ reset: true, put: { other: { b: 1 } } });
  });

  it('[SYNC-9] a device that needs trimmed tombstones starts over and never misses one', async () => {
    await push(names.shared, many(3));
    const held = await catchUp(anna, names.shared);
    const { token: away } = held;
    await admin.post(`/app/v1/${encodeURIComponent(names.shared)}/push_deletes`, { objects: ['o1'] });
    expect(await pullOne(anna, names.shared, away)).toMatchObject({ delete: ['o1'] });
    const library = await openLibrary(server.folder);
    // As if no device had been seen for long.
    expect(await library.tidemark.objects.trim({ source: names.shared, retentionMs: -1 })).toMatchObject({
      floor: 4,
      head: 4,
    });
    await library.close();
    const page = await pullOne(anna, names.shared, away);
    expect(page).toMatchObject({ reset: true, more: false });
    held.apply(page);
    expect([...held.objects.keys()]).toEqual(['o0', 'o2']);
  });

  it('[SYNC-10] a device that is told to start over does so, and administrators see its position', async () => {
    await push(names.shared, many(3));
    const held = await catchUp(anna, names.shared);
    expect(await pullOne(anna, names.shared, held.token)).not.toHaveProperty('reset');
    const { cursor, last_sync } = await cursorOf(anna, names.shared, ({ base }) => base === 3);
    expect([cursor, last_sync]).toEqual([
      { seq: 3, base: 3, head: 3, seen_at: expect.any(String) },
      expect.any(String),
    ]);
    const cd = `/rc/v1/clients/${anna.id}/sources/${encodeURIComponent(names.shared)}/docs/cd`;
    expect((await admin.get(cd)).body).toEqual(many(3));
    const reset = await anna.api.post(`/sync/v1/clients/${anna.id}/reset`, { sources: [names.shared] });
    expect(reset.body).toEqual({ reset: [names.shared] });
    expect(await pullOne(anna, names.shared, held.token)).toMatchObject({ reset: true });
    const all = await anna.api.post(`/sync/v1/clients/${anna.id}/reset`, {});
    expect((all.body as { reset: string[] }).reset).toContain(names.own);
    expect(await anna.api.post(`/sync/v1/clients/${anna.id}/reset`, { sources: ['Nope'] })).toMatchObject({
      code: 'source_not_found',
    });
  });
});

describe('acknowledging', () => {
  it('[SYNC-16] a device acknowledges its tokens without pulling, for itself only, and administrators see it', async () => {
    await push(names.shared, { 1: { a: 1 }, 2: { a: 1 } });
    const { token } = await pullOne(anna, names.shared, null);
    const ack = (body: unknown, { api }: TestDevice = anna) => api.post('/sync/v1/ack', body);
    const reply = await ack({ client_id: anna.id, sources: { [names.shared]: token, Nothing: token } });
    expect(reply).toMatchObject({ status: 200, body: { acknowledged: [names.shared] } });
    const { body } = await admin.get(`/rc/v1/clients/${anna.id}`);
    expect(body).toMatchObject({ cursors: { [names.shared]: { seq: 2, base: 2, head: 2 } } });
    expect(await ack({ client_id: anna.id, sources: {} }, bob)).toMatchObject({ status: 404 });
    expect(await ack({ client_id: anna.id, sources: { [names.shared]: null } })).toMatchObject({ status: 400 });
    expect(await admin.post('/sync/v1/ack', { client_id: anna.id, sources: {} })).toMatchObject({ status: 403 });
  });
});

describe('uploading', () => {
  it('[SYNC-11] an upload takes effect once, its outcome can be read repeatedly, and it reaches other devices', async () => {
    const create = { op_id: 'c1', source: names.own, op: 'create', id: 'n1', attributes: { a: 1, b: 1 } };
    const applied = { op_id: 'c1', source: names.own, status: 'applied', id: 'n1' };
    expect(await upload(anna, create)).toEqual([applied]);
    expect(await upload(anna, { ...create, attributes: { a: 2 } })).toEqual([applied]);
    expect((await catchUp(tablet, names.own)).objects.get('n1')).toEqual({ a: 1, b: 1 });
    await upload(
      tablet,
      { op_id: 'u1', source: names.own, op: 'update', id: 'n1', attributes: { b: 2 } },
      { op_id: 'u2', source: names.own, op: 'update', id: 'n1', attributes: { c: 3 } },
    );
    expect((await catchUp(anna, names.own)).objects.get('n1')).toEqual({ a: 1, b: 2, c: 3 });
    expect(await upload(anna, { op_id: 'd1', source: names.own, op: 'delete', id: 'n1' })).toMatchObject([
      { status: 'applied' },
    ]);
    expect((await catchUp(tablet, names.own)).objects.size).toBe(0);
  });

  it('[SYNC-11] an outcome comes with every pull until it is acknowledged', async () => {
    await upload(anna, { op_id: 'x1', source: names.own, op: 'create', id: 'n1', attributes: { a: 1 } });
    for (let count = 0; count < 2; count++) {
      expect((await pull(anna, { [names.own]: null })).outcomes).toMatchObject([{ op_id: 'x1', status: 'applied' }]);
    }
    expect((await pull(tablet, { [names.own]: null })).outcomes).toEqual([]);
    const acknowledged = { acknowledged: { [names.own]: ['x1'] } };
    expect((await pull(anna, { [names.own]: null }, acknowledged)).outcomes).toEqual([]);
    expect((await pull(anna, { [names.own]: null })).outcomes).toEqual([]);
  });

  it('[SYNC-12] a rejected upload does not stop the others, and its outcome contains the current object', async () => {
    await push(names.own, { 1: { a: 1 } }, 'anna');
    await push(names.own, { 1: { secret: 1 } }, 'bob');
    const readOnly = `Fixed ${tests}`;
    await declare(readOnly, { read_only: true });
    const outcomes = await upload(
      anna,
      { op_id: '1', source: names.own, op: 'create', id: '1', attributes: { b: 1 } },
      { op_id: '2', source: names.own, op: 'update', id: 'gone', attributes: { b: 1 } },
      { op_id: '3', source: readOnly, op: 'create', id: 'x', attributes: { b: 1 } },
      { op_id: '4', source: 'Nope', op: 'create', id: 'x', attributes: { b: 1 } },
      { op_id: '5', source: names.own, op: 'create', id: '5', attributes: { b: 1 } },
    );
    expect(outcomes).toMatchObject([
      { op_id: '1', status: 'rejected', error: { code: 'object_exists' }, current: { a: 1 } },
      { op_id: '2', status: 'conflict', error: { code: 'object_not_found' }, current: null },
      { op_id: '3', status: 'rejected', error: { code: 'source_read_only' } },
      { op_id: '4', status: 'rejected', error: { code: 'source_not_found' } },
      { op_id: '5', status: 'applied' },
    ]);
  });

  it('[SYNC-12] with conflict detection, a change to an object that was changed since is a conflict', async () => {
    const careful = `Careful ${tests}`;
    await declare(careful, { conflicts: 'detect', partition_type: 'app' });
    await push(careful, { 1: { a: 1, b: 1 } });
    const { token: seen } = await catchUp(anna, careful);
    await push(careful, { 1: { a: 'of the backend' } });
    const change = { source: careful, op: 'update', id: '1', seen };
    expect(
      await upload(
        anna,
        { ...change, op_id: '1', attributes: { a: 'of anna' } },
        { ...change, op_id: '2', attributes: { b: 'of anna' } },
      ),
    ).toMatchObject([
      { status: 'conflict', error: { code: 'object_changed' }, current: { a: 'of the backend', b: 'of anna' } },
      { status: 'applied' },
    ]);
    expect(Object.fromEntries((await catchUp(bob, careful)).objects)).toEqual({
      1: { a: 'of the backend', b: 'of anna' },
    });
  });

  it('[SYNC-12] an invalid push is refused, and nothing of it is applied', async () => {
    const { api, id: client_id } = anna;
    const good = { op_id: 'ok', source: names.own, op: 'create', id: 'n', attributes: { a: 1 } };
    const bad: readonly unknown[] = [
      null,
      'x',
      {},
      { ...good, op: 'merge' },
      { ...good, op_id: 7 },
      { ...good, attributes: [] },
      { ...good, seen: 7 },
      { ...good, more: 1 },
    ];
    for (const one of bad) {
      const reply = await api.post('/sync/v1/push', { client_id, changes: [good, one] });
      expect([one, reply.code]).toEqual([one, 'invalid_request']);
    }
    expect((await catchUp(anna, names.own)).objects.size).toBe(0);
    for (const op_id of ['', 'x'.repeat(129)]) {
      const reply = await api.post('/sync/v1/push', { client_id, changes: [good, { ...good, op_id }] });
      expect(reply).toMatchObject({ status: 422, code: 'invalid_value' });
    }
    const tooMany = Array.from({ length: 1_001 }, (_, index) => ({ ...good, op_id: `${index}` }));
    expect((await api.post('/sync/v1/push', { client_id, changes: tooMany })).code).toBe('limit_exceeded');
    expect((await catchUp(anna, names.own)).objects.size).toBe(0);
  });

  it('[SYNC-13] pulls and uploads are counted by source', async () => {
    await upload(anna, { op_id: 's1', source: names.own, op: 'create', id: 'n', attributes: { a: 1 } });
    await pull(anna, { [names.own]: null, Nope: null });
    await upload(anna, { op_id: 's2', source: 'Nope', op: 'create', id: 'n', attributes: { a: 1 } });
    const { body } = await admin.get(`/rc/v1/system/stats?names=${encodeURIComponent('sources:*')}`);
    expect(body).toEqual(expect.arrayContaining([`sources:create:${names.own}`, `sources:pull:${names.own}`]));
    expect((body as string[]).filter((name) => name.endsWith(':Nope'))).toEqual([]);
  });
});

describe('listening', () => {
  it('[EVENT-2] a listening device gets events about pushes, documents and uploads that concern it, and no others', async () => {
    const [onTablet, ofBob] = [await tablet.listen(), await bob.listen()];
    await push(names.own, { 1: { a: 1 } }, 'anna');
    expect(await onTablet.next()).toEqual({ name: 'changed', data: { source: names.own } });
    await upload(anna, { op_id: 'e1', source: names.own, op: 'create', id: 'n', attributes: { a: 1 } });
    expect(await onTablet.next()).toEqual({ name: 'changed', data: { source: names.own } });
    const md = `/rc/v1/users/anna/sources/${encodeURIComponent(names.own)}/docs/md`;
    expect((await admin.post(md, { data: { 2: { b: 1 } } })).status).toBe(200);
    expect(await onTablet.next()).toEqual({ name: 'changed', data: { source: names.own } });
    // A push without changes causes no event, so the next event for both is about the shared source.
    await push(names.own, { 2: { b: 1 } }, 'anna');
    await push(names.shared, { 1: { a: 1 } });
    const changed = { name: 'changed', data: { source: names.shared } };
    expect(await Promise.all([onTablet.next(), ofBob.next()])).toEqual([changed, changed]);
    onTablet.close();
    ofBob.close();
  });

  it('[EVENT-10] an event has the page that a pull with the token `from` would get, also after an upload and a deletion', async () => {
    await push(names.own, { 1: { a: 1, b: 1 } }, 'anna');
    const pageOf = async (token: string | null) => {
      const { sources } = await pull(tablet, { [names.own]: token });
      return sources[names.own] as Page;
    };
    const onTablet = await tablet.listen({ pages: [names.own] });
    const changes = [
      () => push(names.own, { 1: { a: 2 }, 2: { a: 'ä\n"' } }, 'anna'),
      () => upload(anna, { op_id: 'live', source: names.own, op: 'create', id: 'n', attributes: { a: 1 } }),
      () => admin.post(`/app/v1/${encodeURIComponent(names.own)}/push_deletes`, { user_id: 'anna', objects: ['1'] }),
    ];
    for (const change of changes) {
      const { token: from } = await pageOf(null);
      await change();
      const page = await pageOf(from);
      expect(await onTablet.next()).toEqual({ name: 'changed', data: { source: names.own, from, page } });
    }
    onTablet.close();
  });

  it('[EVENT-1] an event stream must not be cached, and HEAD gets only its headers', async () => {
    const reader = await anna.listen();
    expect(reader.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    const head = await anna.api.send({ method: 'HEAD', path: '/sync/v1/events', headers: {}, body: null });
    expect([head.status, head.text]).toEqual([200, '']);
    await push(names.shared, { 1: { a: 1 } });
    expect((await reader.next())?.name).toBe('changed');
    reader.close();
  });

  it('[EVENT-9] event streams do not delay the stop of the server', async () => {
    const other = await startTestServer({ shutdownGraceMs: 600_000 });
    await makeUser(other, 'anna');
    const reader = await (await openDevice(other, 'anna')).listen();
    await other.close();
    expect(await reader.rest()).toEqual([]);
  });
});

describe('searching', () => {
  it('[SYNC-14] a search needs a source that supports it', async () => {
    const search = (source: unknown) => anna.api.post('/sync/v1/search', { source, params: { text: 'x' } });
    expect(await search(names.shared)).toMatchObject({ status: 404, code: 'search_not_available' });
    expect(await search('Nope')).toMatchObject({ status: 404, code: 'source_not_found' });
    expect(await search('*')).toMatchObject({ status: 422, code: 'invalid_name' });
    expect(await search(7)).toMatchObject({ status: 400 });
  });
});
