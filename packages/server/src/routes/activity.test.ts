import type { ActivityEvent, ActivityHistoryPage } from '@tidemark/protocol';
import { Caller, makeUser, openDevice, startValkey, temporaryFolder, USER_PASSWORD } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';

/** Port 1 of this machine refuses connections. */
const NOBODY_LISTENS = 'http://127.0.0.1:1/tidemark';

let server: TestServer;
let admin: Caller;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/sources', { name: 'Order' });
  await admin.post('/rc/v1/sources', { name: 'Product', partition_type: 'app' });
  await makeUser(server, 'anna');
});

afterAll(async () => {
  admin.close();
  await server.close();
});

/** Opens the stream and returns what reads its next events. */
async function watch(query = '?recent=0', { url, token }: Pick<TestServer, 'url' | 'token'> = server) {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const response = await fetch(`${url}/rc/v1/activity${query}`, {
    headers: { 'x-sync-api-token': token },
    signal: abort.signal,
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (): Promise<readonly [string, unknown] | null> => {
    for (;;) {
      const [found, name = '', data = ''] = /^(?::\n\n)*event: (\w+)\ndata: (.*)\n\n/.exec(text) ?? [];
      if (found !== undefined) {
        text = text.slice(found.length);
        return [name, JSON.parse(data)];
      }
      const { value, done } = await reader.read();
      if (done) return null;
      text += value;
    }
  };
  expect(await next()).toEqual(['ready', { server: expect.any(String), events_per_s_max: 200, heartbeat_s: 5 }]);
  return { next, event: async () => ((await next())?.[1] ?? null) as ActivityEvent | null };
}

it('[ACTIVITY-1] pushes, pulls, uploads, pings, logins and refusals appear with the request ids of their answers', async () => {
  const { event } = await watch();
  const pushed = await admin.post('/app/v1/Order/push_objects', {
    user_id: 'anna',
    objects: { 1: { a: 1 }, 2: { a: 2 } },
  });
  const common = { at: expect.any(String), server: expect.any(String) };
  const ofPush = {
    request_id: pushed.headers['x-request-id'],
    operation: 'push_objects',
    changed: 2,
    unchanged: 0,
    seq: 2,
  };
  expect(await event()).toEqual({
    ...common,
    ...ofPush,
    kind: 'push',
    user_id: 'anna',
    client_id: null,
    source: 'Order',
  });
  const { api, id: client_id } = await openDevice(server, 'anna');
  const device = { user_id: 'anna', client_id };
  expect(await event()).toMatchObject({ kind: 'login', ...device, as: 'device', code: null });
  await api.post('/sync/v1/pull', { client_id, sources: { Order: { token: null }, Product: { token: null } } });
  expect(await event()).toMatchObject({ kind: 'pull', ...device, source: 'Order', objects: 2, reset: 'new_device' });
  const change = { op_id: 'o1', source: 'Order', op: 'update', id: '1', attributes: { a: 3 } };
  await api.post('/sync/v1/push', { client_id, changes: [change] });
  const upload = { op: 'update', op_id: 'o1', object_id: '1', status: 'applied', code: null };
  expect(await event()).toMatchObject({ kind: 'upload', ...device, source: 'Order', ...upload });
  const refused = await admin.post('/app/v1/Nothing/push_objects', { objects: {} });
  const { request_id } = refused.body as { readonly request_id: string };
  const refusal = { status: 404, code: 'source_not_found', route: '/app/v1/:source_name/push_objects', method: 'POST' };
  expect(await event()).toMatchObject({ kind: 'refusal', request_id, user_id: 'admin', source: 'Nothing', ...refusal });
  const pinged = await admin.post('/rc/v1/users/ping', { user_id: ['anna'], sources: ['Order'], message: 'x' });
  const { ping_id } = pinged.body as { readonly ping_id: string };
  expect(await event()).toMatchObject({ kind: 'ping', ping_id, user_id: 'anna', sources: ['Order'] });
  api.close();
});

it('[ACTIVITY-1] a failed login appears with its login and code, and never with the password', async () => {
  const { event } = await watch('?kind=login&recent=0');
  const caller = new Caller(server.url, null);
  await caller.post('/rc/v1/system/login', { login: 'anna', password: 'wrong-password' });
  const seen = await event();
  expect(seen).toMatchObject({ kind: 'login', user_id: 'anna', as: 'administrator', code: 'invalid_credentials' });
  expect(JSON.stringify(seen)).not.toContain('wrong-password');
  expect(JSON.stringify(seen)).not.toContain(USER_PASSWORD);
  caller.close();
});

it('[ACTIVITY-6] object data needs include=data and the scope admin', async () => {
  const { body } = await admin.post('/rc/v1/tokens', { name: 'reader', scopes: ['read'] });
  const { token } = body as { readonly token: string };
  const reader = new Caller(server.url, token);
  expect((await reader.get('/rc/v1/activity?include=data')).code).toBe('forbidden');
  expect((await reader.get('/rc/v1/activity?include=all')).code).toBe('invalid_value');
  expect((await reader.get('/rc/v1/activity?kind=push,nap')).code).toBe('invalid_value');
  reader.close();
  const [plain, full] = [
    await watch('?kind=push&recent=0', { url: server.url, token }),
    await watch('?kind=push&include=data&recent=0'),
  ];
  await admin.post('/app/v1/Product/push_objects', { objects: { 7: { colour: 'teal' } } });
  expect(await plain.event()).not.toHaveProperty('data');
  expect(await full.event()).toMatchObject({ data: { 7: { colour: 'teal' } } });
});

it('[ACTIVITY-20] refusals, refused uploads and failed backend calls of the last day are searched by user, device and text', async () => {
  await makeUser(server, 'carl');
  const { api, id: client_id } = await openDevice(server, 'carl');
  const change = { op_id: 'o1', source: 'Nothing', op: 'update', id: '1', attributes: { a: 3 } };
  await api.post('/sync/v1/push', { client_id, changes: [change] });
  await api.post('/sync/v1/pull', { client_id: 'somebody-else', sources: {} });
  await admin.post('/rc/v1/sources', { name: 'Remote', adapter: 'backend' });
  await admin.post('/rc/v1/system/appserver', { adapter_url: NOBODY_LISTENS });
  await api.post('/sync/v1/pull', { client_id, sources: { Remote: { token: null } } });
  await admin.post('/rc/v1/system/appserver', { adapter_url: null });
  api.close();
  const search = async (query: string) => {
    const { body } = await admin.get(`/rc/v1/activity/history?${query}`);
    const { events, ...page } = body as ActivityHistoryPage;
    return {
      ...page,
      events: events.map(({ kind, user_id, client_id: client, ...event }) => [
        kind,
        user_id,
        client,
        'code' in event ? event.code : null,
      ]),
    };
  };
  const refused = ['upload', 'carl', client_id, 'source_not_found'];
  const failures = [['refusal', 'carl', client_id, 'client_not_found'], refused];
  const page = { next: null, complete_from: expect.any(String), left_out: 0 };
  expect(await search('user_id=carl&failed=true&kind=refusal,upload')).toEqual({ ...page, events: failures });
  const ofBackend = await search('source_id=Remote&failed=true');
  expect(ofBackend.events.map(([kind]) => kind)).toEqual(['refresh', 'backend']);
  expect(await search(`client_id=${client_id}&failed=true&text=SOURCE_NOT`)).toEqual({ ...page, events: [refused] });
  expect((await search('user_id=carl&kind=login')).events).toEqual([['login', 'carl', client_id, null]]);
  expect((await search('user_id=nobody')).events).toEqual([]);
  const recent = await watch(`?client_id=${client_id}&recent=1`);
  expect(await recent.event()).toMatchObject({ kind: 'refusal', client_id });
  // The stream goes on where they end, so the oldest comes first.
  const oldestFirst = await watch('?user_id=carl&kind=refusal,upload');
  const kinds = [(await oldestFirst.event())?.kind, (await oldestFirst.event())?.kind];
  expect(kinds).toEqual(failures.map(([kind]) => kind).toReversed());
});

it('[ACTIVITY-52] an event of the last day has the same text as when it happened, so that readers who connect again know it', async () => {
  const { event } = await watch('?kind=refusal&recent=0');
  await admin.get('/rc/v1/users/nobody-of-this-name');
  const live = JSON.stringify(await event());
  const again = await watch('?kind=refusal&recent=1');
  expect(JSON.stringify(await again.event())).toBe(live);
});

it.each(['embedded', 'valkey'])(
  '[ACTIVITY-21] the history on %s survives a restart and covers all servers',
  async (engine) => {
    const folder = await temporaryFolder();
    const valkey = engine === 'valkey' ? await startValkey() : null;
    const store = { dataFolder: folder.path, ...(valkey === null ? {} : { store: valkey.address }) };
    onTestFinished(async () => {
      await valkey?.remove();
      await folder.remove();
    });
    for (const source of ['First', 'Second']) {
      const one = await startTestServer(store);
      const caller = new Caller(one.url, one.token);
      await caller.post(`/app/v1/${source}/push_objects`, { objects: {} });
      caller.close();
      await one.close();
    }
    const last = await startTestServer(store);
    const caller = new Caller(last.url, last.token);
    const { body } = await caller.get('/rc/v1/activity/history?kind=refusal');
    caller.close();
    await last.close();
    const { events } = body as ActivityHistoryPage;
    expect(events.map(({ source }) => source)).toEqual(['Second', 'First']);
    expect(new Set(events.map(({ server: id }) => id)).size).toBe(2);
  },
);

it('[ACTIVITY-7] revoking the token ends the stream at once', async () => {
  const { body } = await admin.post('/rc/v1/tokens', { name: 'soon gone', scopes: ['read'] });
  const { id, token } = body as { readonly id: string; readonly token: string };
  const { next } = await watch('?kind=ping&recent=0', { url: server.url, token });
  await admin.delete(`/rc/v1/tokens/${id}`);
  expect(await next()).toEqual(['ended', { code: 'token_invalid' }]);
  expect(await next()).toBeNull();
});

it.each(['embedded', 'valkey'])(
  '[ACTIVITY-1] a push at one of two servers on one %s store appears at the other',
  async (engine) => {
    const folder = await temporaryFolder();
    const valkey = engine === 'valkey' ? await startValkey() : null;
    const store = { dataFolder: folder.path, ...(valkey === null ? {} : { store: valkey.address }) };
    const one = await startTestServer(store);
    const two = await startTestServer(store);
    onTestFinished(async () => {
      await Promise.all([one.close(), two.close()]);
      await valkey?.remove();
      await folder.remove();
    });
    const caller = new Caller(one.url, one.token);
    await caller.post('/rc/v1/sources', { name: 'Product', partition_type: 'app' });
    const { event } = await watch('?source_id=Product&kind=push&recent=0', two);
    // The first server may hear of the reader a moment later.
    let isSeen = false;
    const firstPush = async () => {
      // Under load, the stream also says how many events it has left out.
      for (;;) {
        const found = await event();
        if (found === null || 'kind' in found) return found;
      }
    };
    const seen = firstPush().finally(() => {
      isSeen = true;
    });
    for (let n = 0; !isSeen && n < 10_000; n++) {
      await caller.post('/app/v1/Product/push_objects', { objects: { 1: { n } } });
    }
    expect(await seen).toMatchObject({ kind: 'push', source: 'Product', request_id: expect.any(String) });
    caller.close();
  },
);
